"""Scorings and their current figures, for managers and researchers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.jobs.models import JobState
from core.people.api.forms import filled_form
from core.people.api.jobs import MAX_JOBS, JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, page
from core.people.api.problems import field_refused
from core.people.api.requested import check_form, valid_values, validated_data
from core.people.api.views import person_asking
from core.people.models import Project
from core.people.permissions import READERS, project_for
from crosslens_metrics.scoring import METRICS
from research.scoring.forms import ManyScoringsForm, ScoringForm
from research.scoring.models import ReferenceSet, Scoring, Tokenizer
from research.scoring.permissions import reference_set_for, scoring_for
from research.scoring.rules.metrics import MetricChoiceError
from research.scoring.selectors.restricting import restricted_figures
from research.scoring.selectors.scores import ScoringRow, score_cells, scoring_rows_of
from research.scoring.selectors.setup import coverage_of, coverages_of, reference_sets
from research.scoring.services.scorings import ask_again, create_many_scorings, create_scorings, delete_scoring
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
    references = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, required=False, help_text="The ID of a set; without it, all sets."
    )
    languages = serializers.ListField(
        child=serializers.CharField(), min_length=1, required=False, help_text="Only sets of these languages: tags."
    )
    models = serializers.ListField(
        child=serializers.IntegerField(), min_length=1, required=False, help_text="IDs; by default all with captions."
    )
    metrics = serializers.ListField(child=serializers.ChoiceField(sorted(METRICS)), min_length=1)
    tokenizer = serializers.ChoiceField(
        Tokenizer.choices, required=False, help_text="For one set; by default the usual one of the language."
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
    description="Against one set of references, or all: one scoring per set and model, computed in the background. "
    "Metrics that need word vectors or encoders are started on the page.",
)
def scores_start(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    sent = validated_data(NewScoringsSerializer, request)
    who: dict[str, Any] = {"project": project, "by": person_asking(request), "now": timezone.now()}
    with field_refused("metrics", MetricChoiceError):
        if "references" in sent:
            references = reference_set_for(person_asking(request), slug, sent.pop("references"))
            made = create_scorings(references=references, **_one_set(references, sent), **who)
        else:
            made = create_many_scorings(**_all_sets(project, sent), **who)
    ask_for_passes(made)
    return started({"results": _shown(project, made, ALL_IMAGES)}, "score", *(one.pk for one in made))


def _one_set(references: ReferenceSet, sent: dict[str, Any]) -> dict[str, Any]:
    if "languages" in sent:
        raise serializers.ValidationError({"languages": [_("Name languages or references, not both.")]})
    coverage = coverage_of(references)
    usual = {"tokenizer": references.usual_tokenizer, "models": [row.model.pk for row in coverage]}
    form = ScoringForm(usual | sent, references=references, coverage=coverage)
    check_form(form)
    return form.cleaned_data


def _all_sets(project: Project, sent: dict[str, Any]) -> dict[str, Any]:
    """Of all languages or those named, by the form of the page."""
    if "tokenizer" in sent:
        raise serializers.ValidationError({"tokenizer": [_("Name references, too: tokens depend on the language.")]})
    sets = list(reference_sets(project))
    languages = {one.language_id for one in sets}
    if set(sent.get("languages", ())) - languages:
        raise serializers.ValidationError({"languages": [valid_values(sorted(languages))]})
    wanted = [one for one in sets if one.language_id in sent.get("languages", languages)]
    form = filled_form(
        partial(ManyScoringsForm, coverages=coverages_of(wanted)),
        {name: value for name, value in sent.items() if name != "languages"},
    )
    chosen = form.chosen()
    if not 1 <= sum(len(models) for _set, models in chosen) <= MAX_JOBS:
        said = _("These are no scorings, or more than %(most)s. Name other languages or models.") % {"most": MAX_JOBS}
        raise serializers.ValidationError({"models": [said]})
    return {"chosen": chosen} | {name: form.cleaned_data[name] for name in ("metrics", "normalise")}


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


@api.post("score_again", "Compute a scoring again", {202: ScoringSerializer}, description="Earlier figures stay.")
def score_again(request: Request, slug: str, scoring_id: int) -> Response:
    scoring = scoring_for(person_asking(request), slug, scoring_id)
    ask_again(scoring=scoring, now=timezone.now())
    ask_for_passes([scoring])
    return started(_shown(scoring.project, [scoring], ALL_IMAGES)[0], "score", scoring.pk)


@api.delete("score_delete", "Remove a scoring with its history")
def score_delete(request: Request, slug: str, scoring_id: int) -> Response:
    delete_scoring(scoring=scoring_for(person_asking(request), slug, scoring_id))
    return Response(status=204)


score_list_or_start = one_address(score_list, scores_start)
score_show_or_delete = one_address(score_show, score_delete)
