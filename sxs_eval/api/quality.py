"""Raters of a comparison, with decisions about them, and its gold pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from typing import Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.models import CollectionImage
from core.people.api.forms import form_shape, sent_form
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, page
from core.people.api.problems import field_refused
from core.people.api.pseudonyms import person_called
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.models import Role, User
from core.people.rules.pseudonyms import pseudonym
from crosslens_metrics.formats.problems import FileRefusedError
from sxs_eval.api.judgements import check_no_assigned_images
from sxs_eval.forms.comparisons import DecisionForm
from sxs_eval.models import Comparison, GoldPair, Judgement, RaterState, RaterStatus
from sxs_eval.permissions import comparison_for
from sxs_eval.selectors.overview import RaterRow, raters_of
from sxs_eval.services import quality as services

api = ApiOperations("comparisons")


class CheckCountsSerializer(serializers.Serializer[Any]):
    passed = serializers.IntegerField()
    failed = serializers.IntegerField()


class RaterSerializer(serializers.Serializer[Any]):
    rater = serializers.SerializerMethodField(help_text="A pseudonym.")
    state = serializers.ChoiceField(
        RaterState.choices, allow_blank=True, help_text="Empty while nothing has been decided."
    )
    note = serializers.CharField(source="status.note", allow_blank=True, default="", help_text="Of the last decision.")
    judged = serializers.IntegerField(help_text="Judgements of pairs that were not late.")
    late = serializers.IntegerField()
    gold = CheckCountsSerializer()
    repeats = CheckCountsSerializer()
    median_s = serializers.FloatField(allow_null=True, help_text="Seconds for a pair; null without judgements.")
    left_percent = serializers.IntegerField(allow_null=True, help_text="How often the left side was better.")
    scripted = serializers.ListField(
        child=serializers.CharField(), help_text="The rules by which answers look scripted."
    )

    def get_rater(self, row: RaterRow) -> str:
        return pseudonym(self.context["project"], row.person.pk)


class RatersSerializer(serializers.Serializer[Any]):
    results = RaterSerializer(many=True)


RaterDecisionSerializer = form_shape("RaterDecision", DecisionForm)


class NewGoldPairSerializer(serializers.Serializer[Any]):
    image = serializers.CharField(help_text="Its key, file name or SHA-256.")
    better = serializers.CharField(trim_whitespace=False, help_text="In the language of the comparison.")
    worse = serializers.CharField(trim_whitespace=False)


class NewGoldPairsSerializer(serializers.Serializer[Any]):
    pairs = NewGoldPairSerializer(many=True, allow_empty=False)
    only_these = serializers.BooleanField(default=False, help_text="Whether to switch off all other gold pairs.")

    def validate_pairs(self, pairs: Sequence[Any]) -> Sequence[Any]:
        if len(pairs) > services.MAX_LINES:
            raise serializers.ValidationError(
                _("The file has more than %(limit)s lines. Split it.") % {"limit": services.MAX_LINES}
            )
        return pairs


class GoldProblemSerializer(serializers.Serializer[Any]):
    pair = serializers.IntegerField(help_text="Which of those that were sent, from 1.")
    reason = serializers.CharField()


class AddedGoldPairsSerializer(serializers.Serializer[Any]):
    added = serializers.IntegerField()
    already = serializers.IntegerField()
    problems = GoldProblemSerializer(many=True, help_text="Of pairs that were not added.")


class GoldUseSerializer(serializers.Serializer[Any]):
    is_used = serializers.BooleanField(help_text="Whether raters still get it.")


class GoldPairSerializer(GoldUseSerializer):
    id = serializers.IntegerField()
    image = serializers.SerializerMethodField(help_text="Its key; null if it has left the collection.")
    better = serializers.CharField()
    worse = serializers.CharField()

    def get_image(self, pair: GoldPair) -> str | None:
        key: str | None = self.context["keys"].get(pair.image_id)
        return key


@api.get("raters", "The raters of a comparison, with their attention checks", RatersSerializer)
def rater_list(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id, Role.MANAGER)
    check_no_assigned_images(person_asking(request), [comparison])
    return Response({"results": _raters(comparison, raters_of(comparison))})


@api.post(
    "rater_decide",
    "Pause, restore or exclude a rater",
    RaterSerializer,
    request=RaterDecisionSerializer,
    description="Judgements of a paused or excluded rater do not count. An excluded one stays so.",
)
def rater_decide(request: Request, slug: str, comparison_id: int, pseudonym: str) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id, Role.MANAGER)
    known = Judgement.objects.filter(comparison=comparison).values("person")
    rater = person_called(pseudonym, comparison.project, User.objects.filter(pk__in=known))
    form = sent_form(request, RaterDecisionSerializer, DecisionForm)
    about = {"comparison": comparison, "note": form.cleaned_data["note"], "by": person_asking(request)}
    _DECISIONS[form.cleaned_data["decision"]](rater, **about, now=timezone.now())
    return Response(_raters(comparison, [row for row in raters_of(comparison) if row.person == rater])[0])


def _restore(rater: User, **about: Any) -> None:
    if RaterStatus.objects.filter(comparison=about["comparison"], person=rater).exists():
        services.restore_rater(rater=rater, **about)


_DECISIONS: dict[str, Any] = {
    DecisionForm.EXCLUDE: lambda rater, **about: services.exclude_rater(rater=rater, **about),
    DecisionForm.PAUSE: lambda rater, **about: services.pause_raters(raters=[rater], **about),
    DecisionForm.RESTORE: _restore,
}


def _raters(comparison: Comparison, rows: Sequence[RaterRow]) -> Any:
    return RaterSerializer(rows, many=True, context={"project": comparison.project}).data


@api.list("gold_pairs", "The gold pairs of a comparison", "GoldPairPage", GoldPairSerializer)
def gold_list(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id)
    check_no_assigned_images(person_asking(request), [comparison])
    rows = GoldPair.objects.filter(comparison=comparison)
    return page(request, [ListPart(0, rows)], order=["pk"], show=partial(_gold_pairs, comparison))


@api.post(
    "gold_add",
    "Add gold pairs to a comparison",
    AddedGoldPairsSerializer,
    request=NewGoldPairsSerializer,
    description="Pairs with a problem are left out, and the others added.",
)
def gold_add(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id)
    check_no_assigned_images(person_asking(request), [comparison])
    sent = validated_data(NewGoldPairsSerializer, request)
    file = BytesIO("\n".join(map(json.dumps, sent["pairs"])).encode())
    with field_refused("pairs", FileRefusedError):
        made = services.import_gold_pairs(comparison=comparison, file=file, only_these=sent["only_these"])
    problems = [{"pair": number, "reason": reason} for number, reason in made.problems]
    return Response({"added": made.added, "already": made.already, "problems": problems})


@api.patch("gold_change", "Switch a gold pair on or off", GoldPairSerializer, request=GoldUseSerializer)
def gold_change(request: Request, slug: str, comparison_id: int, gold_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id)
    check_no_assigned_images(person_asking(request), [comparison])
    found = GoldPair.objects.filter(comparison=comparison, pk=gold_id)
    if not found.exists():
        raise Http404(_("This comparison has no such gold pair."))
    services.use_gold_pair(comparison=comparison, gold_id=gold_id, **validated_data(GoldUseSerializer, request))
    return Response(_gold_pairs(comparison, list(found))[0])


def _gold_pairs(comparison: Comparison, rows: Sequence[GoldPair]) -> Any:
    entries = CollectionImage.objects.filter(
        collection=comparison.collection_id, image__in=[row.image_id for row in rows]
    )
    return GoldPairSerializer(rows, many=True, context={"keys": dict(entries.values_list("image", "key"))}).data


gold_list_or_add = one_address(gold_list, gold_add)
