"""The pairs of a comparison with their captions, outcomes and judgements, as their page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, page
from core.people.api.views import person_asking
from sxs_eval.api.judgements import check_no_assigned_images
from sxs_eval.api.setting_up import pairs_add
from sxs_eval.models import Pair, RaterState
from sxs_eval.permissions import comparison_for
from sxs_eval.selectors.pairs import PairAnswer, PairsShown, judged_pairs, pairs_shown

api = ApiOperations("comparisons")


class PairAnswerSerializer(serializers.Serializer[Any]):
    rater = serializers.CharField(help_text="A pseudonym.")
    score = serializers.IntegerField(help_text="Above zero: the caption of `test` is better.")
    comment = serializers.CharField(allow_blank=True)
    why_not = serializers.ChoiceField(
        ["late", RaterState.PAUSED, RaterState.EXCLUDED],
        allow_blank=True,
        help_text="Why it does not count; empty if it does.",
    )


class PairSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    image = serializers.UUIDField(help_text="The ID of the image.")
    base = serializers.CharField(help_text="The caption by the one model.")
    test = serializers.CharField(help_text="The caption by the other.")
    outcome = serializers.ChoiceField(
        ["wins", "losses", "neither", "incomplete", "similar"],
        help_text="Of `test`; similar: the captions are equal, and nobody was shown them.",
    )
    judgements = PairAnswerSerializer(many=True)


@api.list(
    "pairs",
    "The pairs of a comparison with their judgements",
    "PairPage",
    PairSerializer,
    description="Refused while images of the comparison are assigned to you.",
    parameters=[OpenApiParameter("show", str, enum=PairsShown.values, description="Only these, as on the page.")],
)
def pair_list(request: Request, slug: str, comparison_id: int) -> Response:
    by = person_asking(request)
    comparison = comparison_for(by, slug, comparison_id)
    check_no_assigned_images(by, [comparison])
    rows = pairs_shown(comparison, PairsShown(request.query_params.get("show") or PairsShown.ALL))

    def show(pairs: Sequence[Pair]) -> Any:
        return PairSerializer([_line(*one) for one in judged_pairs(comparison, pairs)], many=True).data

    return page(request, [ListPart(0, rows)], order=["pk"], show=show)


def _line(pair: Pair, outcome: str, answers: Sequence[PairAnswer]) -> dict[str, Any]:
    said = [{"rater": rater, "score": one.score, "comment": one.comment, "why_not": why} for one, rater, why in answers]
    about = {
        "id": pair.pk,
        "image": pair.image.public_id,
        "base": pair.base_caption.text,
        "test": pair.test_caption.text,
    }
    return about | {"outcome": outcome, "judgements": said}


pair_list_or_add = one_address(pair_list, pairs_add)
