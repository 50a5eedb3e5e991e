"""Scorings and their current figures, for managers and researchers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.jobs.models import JobState
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, page
from core.people.api.requested import check_form, validated_data
from core.people.api.views import person_asking
from core.people.models import Project
from core.people.permissions import READERS, project_for
from crosslens_metrics.scoring import METRICS
from research.scoring.forms import ScoringForm
from research.scoring.models import Scoring, Tokenizer
from research.scoring.permissions import reference_set_for, scoring_for
from research.scoring.rules.metrics import MetricChoiceError
from research.scoring.selectors.restricting import restricted_figures
from research.scoring.selectors.scores import ScoringRow, score_cells, scoring_rows_of
from research.scoring.selectors.setup import coverage_of
from research.scoring.services.scorings import create_scorings
from research.scoring.tasks import ask_for_passes
from research.selection.api.subsets import IMAGES, asked_filter, image_filter_refusals
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter

api = ApiOperations("scores")


class FigureSerializer(serializers.Serializer[Any]):
    metric = serializers.CharField()
    value = serializers.FloatField(allow_null=True, help_text="On the metric's own scale; null if it is undefined.")
    why_undefined = serializers.CharField(source="why", allow_blank=True)
    signature = serializers.CharField(help_text="Scores may be compared if it is the same.")
    notes = serializers.ListField(child=serializers.CharField())
    images = serializers.IntegerField()
    left_out = serializers.IntegerField()
    scored_at = serializers.DateTimeField(source="finished_at", allow_null=True)


class ScoringSerializer(serializers.Serializer[Any]):
    """Poll it until its state is done or failed."""

    id = serializers.IntegerField(source="scoring.pk")
    language = serializers.CharField(source="scoring.references.language_id")
    references = serializers.CharField(source="scoring.references.name")
    collection = serializers.SlugField(source="scoring.references.collection.slug")
    model = serializers.CharField(source="scoring.model.name")
    tokenizer = serializers.CharField(source="scoring.tokenizer")
    normalise = serializers.BooleanField(source="scoring.normalise")
    state = serializers.SerializerMethodField()
    error = serializers.CharField(allow_blank=True)
    figures = serializers.SerializerMethodField(help_text="Of the newest pass that is done.")

    def get_state(self, row: ScoringRow) -> str:
        return state_of(row)

    def get_figures(self, row: ScoringRow) -> Any:
        return FigureSerializer(self.context["cells"].get(row.scoring.pk, []), many=True).data


class NewScoringsSerializer(serializers.Serializer[Any]):
    references = serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="The ID of a set.")
    models = serializers.ListField(child=serializers.IntegerField(), min_length=1, help_text="IDs of models.")
    metrics = serializers.ListField(child=serializers.ChoiceField(sorted(METRICS)), min_length=1)
    tokenizer = serializers.ChoiceField(
        Tokenizer.choices, required=False, help_text="If it is not given, the usual one of the language."
    )
    normalise = serializers.BooleanField(default=True, help_text="Lower-case, and without punctuation.")


class ScoringsSerializer(serializers.Serializer[Any]):
    results = ScoringSerializer(many=True)


@api.list(
    "scores", "The scorings of a project and their figures", "ScoringPage", ScoringSerializer, parameters=[IMAGES]
)
def score_list(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    images = asked_filter(request, project)
    return page(
        request,
        [ListPart(0, Scoring.objects.filter(project=project))],
        order=["pk"],
        show=lambda rows: _shown(project, rows, images),
    )


@api.post(
    "scores_start",
    "Score models' captions",
    {202: ScoringsSerializer},
    request=NewScoringsSerializer,
    description="One scoring per model, computed in the background. Poll each until its state is done or failed. "
    "Metrics that need word vectors or encoders are started on the page.",
)
def scores_start(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    sent = validated_data(NewScoringsSerializer, request)
    references = reference_set_for(person_asking(request), slug, sent.pop("references"))
    form = ScoringForm(
        {"tokenizer": references.usual_tokenizer} | sent, references=references, coverage=coverage_of(references)
    )
    check_form(form)
    try:
        made = create_scorings(
            project=project, references=references, **form.cleaned_data, by=person_asking(request), now=timezone.now()
        )
    except MetricChoiceError as refused:
        raise serializers.ValidationError({"metrics": [str(refused)]}) from None
    ask_for_passes(made)
    return started({"results": _shown(project, made, ALL_IMAGES)}, "score", *(one.pk for one in made))


@job_kind("score")
def score_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    scorings = list(Scoring.objects.filter(pk__in=pks).select_related("project"))
    slugs = {one.pk: one.project.slug for one in scorings}
    for slug in set(slugs.values()):
        project_for(person_asking(request), slug, *READERS)
    for row in scoring_rows_of(scorings):
        newest = row.open or row.ended
        yield JobReport(
            state_of(row),
            reverse("api:score-show", args=[slugs[row.scoring.pk], row.scoring.pk]),
            row.error,
            done=newest.done if newest else 0,
            total=newest.total if newest else 0,
            finished_at=newest.finished_at if newest else None,
        )


def state_of(row: ScoringRow) -> str:
    newest = row.open or row.ended
    return newest.state if newest else JobState.QUEUED


@api.get("score", "A scoring and its figures", ScoringSerializer, parameters=[IMAGES])
def score_show(request: Request, slug: str, scoring_id: int) -> Response:
    scoring = scoring_for(person_asking(request), slug, scoring_id)
    return Response(_shown(scoring.project, [scoring], asked_filter(request, scoring.project))[0])


def _shown(project: Project, scorings: Sequence[Scoring], images: ImageFilter) -> Any:
    current = score_cells(project, scorings=[one.pk for one in scorings])
    with image_filter_refusals():
        cells = restricted_figures(current, project=project, filter=images)
    of_scoring: dict[int, list[Any]] = {}
    for cell in cells:
        of_scoring.setdefault(cell.scoring_id, []).append(cell)
    return ScoringSerializer(scoring_rows_of(scorings), many=True, context={"cells": of_scoring}).data


score_list_or_start = one_address(score_list, scores_start)
