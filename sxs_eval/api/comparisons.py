"""Comparisons with their progress, and their results: of one, and of all of a project with the ranking of models."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, page
from core.people.api.requested import asked_language
from core.people.api.views import person_asking
from core.people.permissions import READERS, project_for
from crosslens_metrics.reports.figures import as_json
from research.selection.api.subsets import IMAGES, asked_filter, image_filter_refusals
from sxs_eval.formats.figure_tables import COLUMNS
from sxs_eval.models import Comparison, EqualCaptions
from sxs_eval.permissions import comparison_for
from sxs_eval.selectors.across import ComparisonResult, results_of
from sxs_eval.selectors.evidence import evidence_of
from sxs_eval.selectors.overview import ComparisonProgress, progress_of
from sxs_eval.selectors.results import complete_images_of, report_of
from sxs_eval.services.comparisons import record_looks

api = ApiOperations("comparisons")
LANGUAGE = OpenApiParameter("language", str, description="Only this language, by its tag, in any spelling.")


class ComparisonProgressSerializer(serializers.Serializer[Any]):
    """Counts judgements, except where it says otherwise."""

    pairs = serializers.IntegerField(source="tasks", help_text="Pairs to be judged.")
    wanted = serializers.IntegerField()
    done = serializers.IntegerField()
    assigned = serializers.IntegerField()
    unseen = serializers.IntegerField(help_text="Pairs with equal captions that count as SIMILAR without being shown.")
    paused = serializers.IntegerField(help_text="Raters about whom a manager must decide.")
    qualified = serializers.IntegerField(help_text="Raters of the project who know the language.")


class ComparisonSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="comparison.pk")
    language = serializers.CharField(source="comparison.language_id")
    base_model = serializers.CharField(source="comparison.base.name")
    test_model = serializers.CharField(source="comparison.test.name")
    collection = serializers.SlugField(source="comparison.collection.slug")
    images = serializers.CharField(source="comparison.images", help_text="The image filter; empty for all images.")
    subset = serializers.IntegerField(
        source="comparison.subset", allow_null=True, help_text="How many images were drawn; null for all."
    )
    seed = serializers.IntegerField(source="comparison.seed")
    scale = serializers.IntegerField(source="comparison.scale", help_text="How many levels it has.")
    equal_captions = serializers.ChoiceField(EqualCaptions.choices, source="comparison.equal_captions")
    replication = serializers.IntegerField(source="comparison.replication", help_text="Judgements per pair.")
    gold_percent = serializers.IntegerField(source="comparison.gold_percent")
    repeat_percent = serializers.IntegerField(source="comparison.repeat_percent")
    chosen_by = serializers.CharField(
        source="comparison.chosen_by",
        allow_blank=True,
        help_text="The metric by whose scores the models were chosen, * for any other; empty if none were.",
    )
    awaits_pairs = serializers.BooleanField(
        source="comparison.awaits_pairs", help_text="Whether its pairs are still being made."
    )
    left_out = serializers.IntegerField(
        source="comparison.left_out", help_text="Images that lack a caption of one of the models."
    )
    excluded_at = serializers.DateTimeField(
        source="comparison.excluded_at", allow_null=True, help_text="Since when it is left out of results; or null."
    )
    exclusion_reason = serializers.CharField(source="comparison.exclusion_reason", allow_blank=True)
    source = serializers.CharField(  # type: ignore[assignment]
        source="comparison.source", allow_blank=True, help_text="Where its judgements are from, if from a file."
    )
    created_at = serializers.DateTimeField(source="comparison.created_at")
    progress = serializers.SerializerMethodField()

    @extend_schema_field(ComparisonProgressSerializer)
    def get_progress(self, row: ComparisonProgress) -> Any:
        return ComparisonProgressSerializer(row).data


class OverallResultsSerializer(serializers.Serializer[Any]):
    """The columns of `results` and `pooled` are those of the table for papers. See docs/side-by-side-files.md."""

    images = serializers.CharField(help_text="The image filter; empty for all images.")
    results = serializers.ListField(child=serializers.DictField(), help_text="A row per comparison.")
    pooled = serializers.ListField(
        child=serializers.DictField(), help_text="The same two models in several languages or on several sets."
    )
    ranking = serializers.DictField(allow_null=True, help_text="Models in order; null if too few have outcomes.")
    unlike = serializers.ListField(
        child=serializers.CharField(), help_text="In what comparisons differ that should be the same."
    )


@api.list(
    "comparisons",
    "The comparisons of a project and their progress",
    "ComparisonPage",
    ComparisonSerializer,
    parameters=[LANGUAGE],
)
def comparison_list(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    rows = Comparison.objects.filter(project=project).select_related("language", "pool", "base", "test", "collection")
    if language := asked_language(request, rows.values_list("language", flat=True)):
        rows = rows.filter(language=language)
    return page(
        request,
        [ListPart(0, rows)],
        order=["pk"],
        show=lambda shown: ComparisonSerializer(progress_of(shown, now=timezone.now()), many=True).data,
    )


@api.get("comparison", "A comparison and its progress", ComparisonSerializer)
def comparison_show(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id)
    return Response(ComparisonSerializer(progress_of([comparison], now=timezone.now())[0]).data)


@api.get(
    "comparison_results",
    "The report of a comparison",
    OpenApiTypes.OBJECT,
    description="As `manage.py sxs_report --json` prints it. See docs/side-by-side-files.md. "
    "That it was opened is recorded.",
    parameters=[IMAGES],
)
def comparison_results(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id)
    images = asked_filter(request, comparison.project)
    with image_filter_refusals():
        report = report_of(comparison, evidence_of([comparison], images)[comparison.pk])
    _record_looks(request, [comparison], {comparison.pk: report.outcome.images.denominator} if images.is_all else None)
    return Response({"images": str(images), **report.as_json()})


@api.get(
    "results",
    "The results of all comparisons, and the ranking of models",
    OverallResultsSerializer,
    description="That they were opened is recorded.",
    parameters=[LANGUAGE, IMAGES],
)
def results_show(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    images = asked_filter(request, project)
    tags = Comparison.objects.filter(project=project).values_list("language", flat=True)
    language = asked_language(request, tags) or ""
    with image_filter_refusals():
        overall = results_of(project, language=language, filter=images)
    complete = {row.comparison.pk: row.images for row in overall.results if row.comparison}
    shown = [row.comparison for row in overall.results if row.comparison]
    _record_looks(request, shown, complete if images.is_all else None)
    return Response(
        {
            "images": str(images),
            "results": [_cells(row) for row in overall.results],
            "pooled": [_cells(row) for row in overall.pooled],
            "ranking": overall.ranking and overall.ranking.as_json(),
            "unlike": list(overall.unlike),
        }
    )


def _cells(row: ComparisonResult) -> dict[str, Any]:
    return {name: as_json(value(row)) for name, value in COLUMNS.items()}


def _record_looks(request: Request, comparisons: list[Comparison], complete: dict[int, int] | None) -> None:
    """Record that results were seen, as pages do; `complete` images are counted here where they are not known."""
    if request.method == "GET":
        record_looks(comparisons, complete or complete_images_of(comparisons))
