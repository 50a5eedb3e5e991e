"""What seasons are made of: which sentences are in use, and word vectors. Sentences and words are only on the pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.jobs.models import JobState
from core.languages.models import Language
from core.people.api.forms import form_parameters
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import explain, refused_as
from core.people.api.requested import asked_language, valid_values, validated_data
from core.people.api.views import person_asking
from core.people.models import Project, Role
from core.people.permissions import READERS, project_for
from crosslens_metrics.formats.word_vectors import WordVectorFileError
from gapgame import tasks
from gapgame.forms.items import USES, FilterForm
from gapgame.models import GapItem, ItemSet
from gapgame.permissions import item_set_for, season_for
from gapgame.selectors.overview import skip_reasons, skipped_items
from gapgame.selectors.setup import item_sets_of, items_of
from gapgame.services.items import use_item
from research.inference.models import WordVectorSet
from research.inference.services.word_vectors import GLOVE, PACKAGED, import_packaged

api = ApiOperations("game")
explain({"vectors-refused": "The word vectors cannot be imported; detail says why."})


class ItemSetSerializer(serializers.ModelSerializer[ItemSet]):
    size = serializers.IntegerField(help_text="How many sentences it has.")
    used = serializers.IntegerField(help_text="How many of them are in use.")

    class Meta:
        model = ItemSet
        fields = ("id", "name", "size", "used", "created_at")
        read_only_fields = fields


class ItemUseSerializer(serializers.Serializer[Any]):
    is_used = serializers.BooleanField(help_text="Whether players still get it.")


class GapItemSerializer(ItemUseSerializer):
    id = serializers.IntegerField()
    key = serializers.CharField(help_text="Its name in files.")
    language = serializers.CharField(source="language_id")
    skips = serializers.IntegerField(help_text="How often players skipped it.")


class WordVectorsSerializer(serializers.ModelSerializer[WordVectorSet]):
    language = serializers.CharField(source="language_id")

    class Meta:
        model = WordVectorSet
        fields = ("id", "name", "language", "kind", "dimensions", "words", "source", "created_at")
        read_only_fields = fields


class WantedVectorsSerializer(serializers.Serializer[Any]):
    name = serializers.ChoiceField(sorted(PACKAGED), help_text="Of an installed package.")
    language = serializers.CharField(required=False, help_text="Its tag; by default the first that they have.")


class SkippedItemSerializer(GapItemSerializer):
    seen = serializers.IntegerField(help_text="How often players were shown it.")
    reasons = serializers.SerializerMethodField(
        help_text="How often players skipped it for each reason; `reported`: by reporting an image of it."
    )

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField()))
    def get_reasons(self, item: GapItem) -> dict[str, int]:
        return dict(self.context["reasons"][item.pk])


@api.list("item_sets", "The sets of sentences of a project", "ItemSetPage", ItemSetSerializer)
def item_set_list(request: Request, slug: str) -> Response:
    rows = item_sets_of(project_for(person_asking(request), slug, *READERS))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(ItemSetSerializer))


@api.list(
    "items",
    "Which sentences of a set are in use",
    "ItemPage",
    GapItemSerializer,
    parameters=[
        OpenApiParameter("language", str, description="Only this language, by its tag, in any spelling."),
        OpenApiParameter(
            "use", str, enum=[value for value, _label in USES if value], description="1: in use; 0: switched off."
        ),
        *form_parameters(
            FilterForm,
            omit=("language", "use", "search"),
            split="Only words that share a sense with their translations in this many languages.",
        ),
    ],
)
def item_list(request: Request, slug: str, item_set_id: int) -> Response:
    item_set = item_set_for(person_asking(request), slug, item_set_id)
    split = request.query_params.get("split")
    rows = items_of(item_set, use=request.query_params.get("use", ""), split=int(split) if split else None)
    if language := asked_language(request, item_set.items.values_list("language", flat=True)):
        rows = rows.filter(language=language)
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(GapItemSerializer))


@api.list(
    "skipped_items",
    "Sentences that players skipped in a season",
    "SkippedItemPage",
    SkippedItemSerializer,
    description="What players noted about them is in `threads`.",
)
def skipped_list(request: Request, slug: str, season_slug: str) -> Response:
    season = season_for(person_asking(request), slug, season_slug)

    def show(items: Sequence[GapItem]) -> Any:
        return SkippedItemSerializer(items, many=True, context={"reasons": skip_reasons(season, items)}).data

    return page(request, [ListPart(0, skipped_items(season))], order=["pk"], show=show)


@api.patch(
    "item_change",
    "Switch a sentence on or off",
    GapItemSerializer,
    request=ItemUseSerializer,
    description="During a season, this affects its next batches.",
)
def item_change(request: Request, slug: str, item_set_id: int, item_id: int) -> Response:
    item_set = item_set_for(person_asking(request), slug, item_set_id, Role.MANAGER)
    item = get_object_or_404(GapItem, item_set=item_set, pk=item_id)
    use_item(item=item, **validated_data(ItemUseSerializer, request))
    return Response(GapItemSerializer(items_of(item_set).get(pk=item.pk)).data)


@api.list("vectors", "The word vectors that score guesses", "WordVectorsPage", WordVectorsSerializer)
def vectors_list(request: Request, slug: str) -> Response:
    project_for(person_asking(request), slug, *READERS)
    return page(
        request, [ListPart(0, WordVectorSet.objects.all())], order=["pk"], show=many_shown(WordVectorsSerializer)
    )


@api.post(
    "vectors_import",
    "Import the word vectors of a package",
    {201: WordVectorsSerializer, 202: WantedVectorsSerializer},
    request=WantedVectorsSerializer,
    description="A table is copied in the background. If its job stays queued for a minute, its package is missing.",
)
def vectors_import(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    sent = validated_data(WantedVectorsSerializer, request)
    tags = PACKAGED[sent["name"]].languages
    tag = sent.setdefault("language", tags[0])
    if tag not in tags:
        raise serializers.ValidationError({"language": [valid_values(tags)]})
    if sent["name"] == GLOVE.name:
        tasks.ask_for_packaged_vectors(GLOVE.name)
        return started(sent, "vectors", project.pk)
    with refused_as("vectors-refused", WordVectorFileError):
        made = import_packaged(name=sent["name"], language=get_object_or_404(Language, pk=tag), now=timezone.now())
    return Response(WordVectorsSerializer(made.vectors).data, status=201)


@job_kind("vectors")
def vectors_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    """Report on the import of GloVe as projects ask for it, which have it in common."""
    state = JobState.DONE if WordVectorSet.objects.filter(name=GLOVE.name).exists() else JobState.QUEUED
    for slug in Project.objects.filter(pk__in=pks).values_list("slug", flat=True):
        project_for(person_asking(request), slug, *READERS)
        yield JobReport(state, reverse("api:vectors-list", args=[slug]))


vectors_list_or_import = one_address(vectors_list, vectors_import)
