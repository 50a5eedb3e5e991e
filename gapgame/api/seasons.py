"""Seasons: set up, changed and deleted as on their pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.forms import filled_form, form_shape
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import explain, field_refused, refused_as
from core.people.api.requested import valid_values, validated_data
from core.people.api.views import asking_now, person_asking
from core.people.models import Role
from core.people.permissions import READERS, project_for
from gapgame.forms.seasons import VECTORS, ItemSetForm, SeasonForm, TextsForm, clock_fields
from gapgame.models import Season
from gapgame.permissions import season_for
from gapgame.rules.clock import time_zones
from gapgame.selectors import setup
from gapgame.selectors.setup import PlayableSentences
from gapgame.services import seasons as services

api = ApiOperations("game")
explain({"season-refused": "The season is not possible, or has begun; detail says why."})
MAX_ID = 2**63 - 1
OF_CLOCKS = ("starts_at", "starts_which", "ends_at", "ends_which")


class SeasonSerializer(serializers.ModelSerializer[Season]):
    items = serializers.IntegerField(source="item_set_id", help_text="The ID of its sentences.")
    vectors = serializers.SerializerMethodField(help_text="The ID of the word vectors of each language, by tag.")

    class Meta:
        model = Season
        fields = (
            *("slug", "name", "description", "prizes", "items", "vectors", "time_zone", "starts_at", "ends_at"),
            *("batch_size", "access", "needs_address", "closed_at"),
        )
        read_only_fields = fields

    def get_vectors(self, season: Season) -> dict[str, int]:
        return dict(season.languages.values_list("language", "vectors"))


def _terms(*, is_new: bool) -> dict[str, Any]:
    return {
        "starts_at": serializers.DateTimeField(required=is_new, help_text="From then on only texts can be changed."),
        "ends_at": serializers.DateTimeField(required=is_new, help_text="Guesses made then or later do not count."),
        "vectors": serializers.DictField(
            child=serializers.IntegerField(min_value=1, max_value=MAX_ID),
            required=False,
            help_text="The ID of the word vectors of each language to play, by tag. For a new season, by default the "
            "first of each language.",
        ),
    }


NewSeasonSerializer = form_shape(
    "NewSeason",
    SeasonForm,
    omit=OF_CLOCKS,
    items=serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="The ID of its sentences."),
    **_terms(is_new=True),
)
SeasonChangeSerializer = form_shape("SeasonChange", SeasonForm, omit=OF_CLOCKS, filled=None, **_terms(is_new=False))


@api.list("seasons", "The seasons of a project", "SeasonPage", SeasonSerializer)
def season_list(request: Request, slug: str) -> Response:
    rows = Season.objects.filter(project=project_for(person_asking(request), slug, *READERS))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(SeasonSerializer))


@api.post("season_create", "Set up a season", {201: SeasonSerializer}, request=NewSeasonSerializer)
def season_create(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    sent = validated_data(NewSeasonSerializer, request)
    sets = setup.playable_sets_of(project)
    chosen = filled_form(partial(ItemSetForm, item_sets=sets), {"items": sent.pop("items")})
    item_set = chosen.cleaned_data["items"]
    playable = setup.playable_of(item_set)
    form = filled_form(partial(SeasonForm, playable=playable), _as_in_the_form(sent, playable))
    with _refusals():
        made = services.create_season(
            project=project, item_set=item_set, texts=form.texts(), terms=form.terms(), **asking_now(request)
        )
    return Response(SeasonSerializer(made).data, status=201)


@api.get("season", "A season", SeasonSerializer)
def season_show(request: Request, slug: str, season_slug: str) -> Response:
    return Response(SeasonSerializer(season_for(person_asking(request), slug, season_slug)).data)


@api.patch(
    "season_change",
    "Change a season",
    SeasonSerializer,
    request=SeasonChangeSerializer,
    description="Once it has begun, only its name, description and prizes.",
)
def season_change(request: Request, slug: str, season_slug: str) -> Response:
    season = season_for(person_asking(request), slug, season_slug)
    sent = validated_data(SeasonChangeSerializer, request)
    form: TextsForm
    if services.has_begun(season, timezone.now()):
        form = filled_form(partial(TextsForm, season=season), sent)
    else:
        playable, chosen = setup.playable_of(season.item_set), setup.vectors_chosen(season.pk)
        zone_and_times = {name: getattr(season, name) for name in ("time_zone", "starts_at", "ends_at")}
        form = filled_form(
            partial(SeasonForm, playable=playable, season=season, chosen=chosen),
            _as_in_the_form(zone_and_times | sent, playable),
        )
    terms = form.terms() if isinstance(form, SeasonForm) else None
    with _refusals():
        changed = services.change_season(season=season, texts=form.texts(), terms=terms, **asking_now(request))
    return Response(SeasonSerializer(changed).data)


@api.delete("season_delete", "Delete a season that has not begun")
def season_delete(request: Request, slug: str, season_slug: str) -> Response:
    season = season_for(person_asking(request), slug, season_slug, Role.MANAGER)
    with _refusals():
        services.delete_season(season=season, **asking_now(request))
    return Response(status=204)


def _as_in_the_form(sent: Mapping[str, Any], playable: Sequence[PlayableSentences]) -> dict[str, Any]:
    """Write instants as the season's clocks show them, and vectors as a field for each language."""
    given = dict(sent)
    time_zone = given.setdefault("time_zone", "UTC")
    if time_zone in time_zones():
        for which in ("starts", "ends"):
            try:
                given |= clock_fields(which, given[f"{which}_at"], time_zone)
            except OverflowError:
                said = _("Enter a date and time, for example 2026-05-31 20:00.")
                raise serializers.ValidationError({f"{which}_at": [said]}) from None
    if "vectors" in given:
        tags, chosen = [row.language.pk for row in playable if row.ready], given.pop("vectors")
        if set(chosen) - set(tags):
            raise serializers.ValidationError({"vectors": [valid_values(tags)]})
        given |= {VECTORS + tag: chosen.get(tag, "") for tag in tags}
    return given


@contextmanager
def _refusals() -> Iterator[None]:
    with refused_as("season-refused", services.SeasonError), field_refused("name", services.SeasonNameTakenError):
        yield


season_list_or_create = one_address(season_list, season_create)
season_show_change_or_delete = one_address(season_show, season_change, season_delete)
