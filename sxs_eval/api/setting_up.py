"""What managers and researchers set up: comparisons, their settings, and which of them count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import SystemRandom
from typing import Any

from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.jobs.models import JobState
from core.people.api.forms import filled_form, form_shape, sent_form
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import explain, refused_as
from core.people.api.requested import valid_values, validated_data
from core.people.api.views import asking_now, person_asking
from core.people.models import Project, Role
from core.people.permissions import READERS, project_for
from crosslens_metrics.reports.evaluation_points import ANY_METRIC
from crosslens_metrics.scoring import FIGURES
from sxs_eval import tasks
from sxs_eval.api.comparisons import ComparisonSerializer, comparison_list, comparison_show
from sxs_eval.forms.comparisons import (
    WANTED,
    CollectionForm,
    ComparisonForm,
    InstructionsForm,
    ModelsForm,
    RemovalForm,
    SettingsForm,
)
from sxs_eval.models import Comparison
from sxs_eval.permissions import comparison_for
from sxs_eval.selectors import planning
from sxs_eval.selectors.overview import progress_of
from sxs_eval.services import comparison_removal as removal
from sxs_eval.services import comparisons as services

api = ApiOperations("comparisons")
explain({"comparison-refused": "The comparison cannot be made or changed so; detail says why."})
SEED_BITS = 32
MAX_ID = 2**63 - 1

NewComparisonsSerializer = form_shape(
    "NewComparisons",
    ComparisonForm,
    omit=("only",),
    filled=("seed",),
    collection=serializers.SlugField(help_text="Of the images, by its slug."),
    base=serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="The ID of the base model."),
    test=serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="The ID of the test model."),
    languages=serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Tags; by default all in which both have captions."
    ),
    images=serializers.CharField(required=False, allow_blank=True, help_text="An image filter; empty for all images."),
    chosen_by=serializers.ChoiceField(
        [ANY_METRIC, *FIGURES],
        required=False,
        allow_blank=True,
        help_text="The metric by whose scores these models were chosen, * for any other; empty if none were. The "
        "comparison is no evidence for that metric.",
    ),
)
ComparisonSettingsSerializer = form_shape("ComparisonSettings", SettingsForm, filled=None)
LeftOutSerializer = form_shape("LeftOut", RemovalForm, omit=("scope",))
InstructionsSerializer = form_shape("Instructions", InstructionsForm)


class ComparisonsSerializer(serializers.Serializer[Any]):
    results = ComparisonSerializer(many=True)
    already = serializers.ListField(
        child=serializers.CharField(), help_text="Languages in which these models are compared on these images already."
    )


class PublishedSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()


@api.post(
    "comparisons_start",
    "Compare two models, in one language or several",
    {200: ComparisonsSerializer, 202: ComparisonsSerializer},
    request=NewComparisonsSerializer,
    description="Their pairs are made in the background.",
)
def comparisons_start(request: Request, slug: str) -> Response:
    project, by = project_for(person_asking(request), slug, *READERS), person_asking(request)
    sent = validated_data(NewComparisonsSerializer, request)
    found = filled_form(partial(CollectionForm, project=project, by=by), {"collection": sent.pop("collection")})
    collection = found.cleaned_data["collection"]
    described = planning.models_with_captions(project, collection)
    models = filled_form(
        partial(ModelsForm, models=described),
        {"collection": collection.slug, "base": sent.pop("base"), "test": sent.pop("test")},
    )
    about = {"project": project, "collection": collection} | {name: models.cleaned_data[name] for name in _PAIR}
    chosen_by = sent.pop("chosen_by", "")
    form = _comparison_form(about, sent)
    with refused_as("comparison-refused", services.ComparisonError):
        made, already = services.create_comparisons(
            languages=form.languages(),
            setting=form.setting(),
            chosen_by=chosen_by,
            by=by,
            now=timezone.now(),
            **about,
        )
    tasks.nudge_filling([one.pk for one in made])
    body = {"results": comparisons_shown(made), "already": [language.pk for language in already]}
    return started(body, "comparison", *(one.pk for one in made)) if made else Response(body)


_PAIR = ("base", "test")


def _comparison_form(about: dict[str, Any], sent: dict[str, Any]) -> ComparisonForm:
    collection, base, test = about["collection"], about["base"], about["test"]
    coverage = planning.coverage_of(about["project"], collection, base, test)
    there = {row.language.pk for row in coverage if row.images}
    wanted = sent.pop("languages", sorted(there))
    if set(wanted) - there:
        raise serializers.ValidationError({"languages": [valid_values(sorted(there))]})
    sent |= {"only": sent.pop("images", "")} | {WANTED + tag: True for tag in wanted}
    return filled_form(
        partial(
            ComparisonForm,
            coverage=coverage,
            images=planning.size_of(collection),
            left=partial(planning.left_by, **about),
            seed=SystemRandom().getrandbits(SEED_BITS),
        ),
        sent,
    )


@api.patch(
    "comparison_change", "Change how a comparison is judged", ComparisonSerializer, request=ComparisonSettingsSerializer
)
def comparison_change(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id)
    form = sent_form(request, ComparisonSettingsSerializer, partial(SettingsForm, comparison=comparison))
    services.change_comparison(comparison=comparison, settings=form.settings(), **asking_now(request))
    if "replication" in form.changed_data:
        services.change_replication(
            comparison=comparison, replication=form.cleaned_data["replication"], **asking_now(request)
        )
    return _answer(request, slug, comparison_id)


@api.delete("comparison_delete", "Delete a comparison of which nobody has taken pairs")
def comparison_delete(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id, Role.MANAGER)
    with refused_as("comparison-refused", services.ComparisonError):
        removal.delete_comparison(comparison=comparison, **asking_now(request))
    return Response(status=204)


@api.post(
    "comparison_leave_out",
    "Leave a comparison out of results",
    ComparisonSerializer,
    request=LeftOutSerializer,
)
def comparison_leave_out(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id, Role.MANAGER)
    sent = validated_data(LeftOutSerializer, request)
    removal.leave_out_comparisons(comparisons=[comparison], **sent, **asking_now(request))
    return _answer(request, slug, comparison_id)


@api.post("comparison_count", "Count a comparison in results again", ComparisonSerializer)
def comparison_count(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id, Role.MANAGER)
    removal.count_comparisons_again(comparisons=[comparison], **asking_now(request))
    return _answer(request, slug, comparison_id)


@api.post(
    "pairs_add",
    "Add pairs of images that both models have described since",
    {202: ComparisonSerializer},
)
def pairs_add(request: Request, slug: str, comparison_id: int) -> Response:
    comparison = comparison_for(person_asking(request), slug, comparison_id)
    with refused_as("comparison-refused", services.ComparisonError):
        services.ask_for_missing_pairs(comparison_ids=[comparison.pk])
    tasks.nudge_filling([comparison.pk])
    return started(_answer(request, slug, comparison_id).data, "comparison", comparison.pk)


@api.post(
    "instructions_publish",
    "Publish the next version of the instructions for raters",
    {201: PublishedSerializer},
    request=InstructionsSerializer,
)
def instructions_publish(request: Request, slug: str) -> Response:
    project: Project = project_for(person_asking(request), slug, *READERS)
    form = sent_form(request, InstructionsSerializer, InstructionsForm)
    made = services.publish_instructions(project=project, body=form.cleaned_data["body"], **asking_now(request))
    return Response({"version": made.version}, status=201)


@job_kind("comparison")
def comparison_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for slug, pk in Comparison.objects.filter(pk__in=pks).values_list("project__slug", "pk"):
        comparison = comparison_for(person_asking(request), slug, pk)
        state, at = (JobState.QUEUED, None) if comparison.awaits_pairs else (JobState.DONE, comparison.filled_at)
        yield JobReport(state, reverse("api:comparison-show", args=[slug, pk]), finished_at=at)


def _answer(request: Request, slug: str, comparison_id: int) -> Response:
    return Response(comparisons_shown([comparison_for(person_asking(request), slug, comparison_id)])[0])


def comparisons_shown(comparisons: Sequence[Comparison]) -> Any:
    return ComparisonSerializer(progress_of(comparisons, now=timezone.now()), many=True).data


comparison_list_or_start = one_address(comparison_list, comparisons_start)
comparison_show_change_or_delete = one_address(comparison_show, comparison_change, comparison_delete)
