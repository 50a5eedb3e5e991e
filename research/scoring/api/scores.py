"""Scorings and their current figures, for managers and researchers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.models import Collection
from core.jobs.models import JobState
from core.people.api.forms import filled_form
from core.people.api.jobs import MAX_JOBS, JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, page
from core.people.api.problems import field_refused
from core.people.api.requested import asked_language, asked_row, valid_values, validated_data
from core.people.api.views import person_asking
from core.people.models import Project
from core.people.permissions import READERS, project_for
from crosslens_metrics.scoring import METRICS
from research.scoring.forms.scores import OF_WHAT, ManyScoringsForm, ScoringForm
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


def _id(help_text: str) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=1, max_value=2**63 - 1, required=False, help_text=help_text)


def _ids(help_text: str) -> serializers.ListField:
    return serializers.ListField(child=_id(""), required=False, help_text=help_text)


class NewScoringsSerializer(serializers.Serializer[Any]):
    references = _id("The ID of a set; without it, all sets.")
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
    normalise = serializers.BooleanField(required=False, help_text="Lower-case, and without punctuation, by default.")
    vectors = _ids("IDs of word vectors, for WMDRel and WCC: one of each language, by default the newest.")
    encoder = _id("The ID of the encoder of the captions, for CLinRel, CMedRel and WCC.")
    english = _ids("IDs of English references, for CLinRel and WCC: one of each collection, by default the newest.")
    english_encoder = _id("The ID of the encoder of these, where it is another one.")
    features = _ids(
        "IDs of vectors of images, for CMedRel and WCC: one of each collection, by default the newest in the encoder's "
        "space."
    )


class ScoringsSerializer(serializers.Serializer[Any]):
    results = ScoringSerializer(many=True)
    left_out = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="The languages where a metric was left out, because something that it needs is missing there.",
    )


@api.list(
    "scores",
    "The scorings of a project and their figures",
    "ScoringPage",
    ScoringSerializer,
    parameters=[
        IMAGES,
        OpenApiParameter("language", str, description="Only this language, by its tag, in any spelling."),
        OpenApiParameter("collection", str, description="Only of images of this collection, by its slug."),
        OpenApiParameter("metric", str, enum=sorted(METRICS), description="Only figures of this metric."),
    ],
)
def score_list(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    images, metric = asked_filter(request, project), request.query_params.get("metric", "")
    rows = Scoring.objects.filter(project=project)
    sets = Collection.objects.filter(pk__in=rows.values("references__collection"))
    if language := asked_language(request, rows.values_list("references__language", flat=True)):
        rows = rows.filter(references__language=language)
    if collection := asked_row(request, "collection", sets, by="slug"):
        rows = rows.filter(references__collection=collection)
    show = partial(_shown, project, images=images, metric=metric)
    return page(request, [ListPart(0, rows)], order=["pk"], show=show)


@api.post(
    "scores_start",
    "Score models' captions",
    {202: ScoringsSerializer},
    request=NewScoringsSerializer,
    description="Against one set of references, or all: one scoring per set and model, computed in the background. "
    "For one set, give at most one of word vectors, English references and features; none is chosen by default.",
)
def scores_start(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    sent = validated_data(NewScoringsSerializer, request)
    who: dict[str, Any] = {"project": project, "by": person_asking(request), "now": timezone.now()}
    left_out: dict[str, list[str]] = {}
    with field_refused("metrics", MetricChoiceError):
        if "references" in sent:
            references = reference_set_for(person_asking(request), slug, sent.pop("references"))
            made = create_scorings(references=references, **_one_set(references, sent), **who)
        else:
            made, lacking = create_many_scorings(**_all_sets(project, sent), **who)
            left_out = {metric: sorted({one.pk for one in languages}) for metric, languages in lacking.items()}
    ask_for_passes(made)
    body = {"results": _shown(project, made, ALL_IMAGES), "left_out": left_out}
    return started(body, "score", *(one.pk for one in made))


def _one_set(references: ReferenceSet, sent: dict[str, Any]) -> dict[str, Any]:
    if "languages" in sent:
        raise serializers.ValidationError({"languages": [_("Name languages or references, not both.")]})
    if several := [name for name in OF_WHAT if len(sent.get(name, ())) > 1]:
        raise serializers.ValidationError({name: [_("Give it once.")] for name in several})
    coverage = coverage_of(references)
    sent = {"models": [row.model.pk for row in coverage]} | sent
    sent |= {name: sent[name][0] for name in OF_WHAT if sent.get(name)}
    return filled_form(partial(ScoringForm, references=references, coverage=coverage), sent).cleaned_data


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
    if not 1 <= sum(len(part.models) for part in chosen) <= MAX_JOBS:
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


def _shown(project: Project, scorings: Sequence[Scoring], images: ImageFilter, metric: str = "") -> Any:
    current = score_cells(project, scorings=[one.pk for one in scorings])
    with image_filter_refusals():
        cells = restricted_figures(current, project=project, filter=images)
    of_scoring: dict[int, list[Any]] = {}
    for cell in cells:
        if metric in ("", cell.metric):
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
