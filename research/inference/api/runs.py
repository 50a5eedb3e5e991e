"""Runs of captioning models, and trials of them: start, follow and steer them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.forms import Form
from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.api.shapes import ServedImageSerializer, served_fields
from core.people.api.forms import filled_form, form_shape, sent_form
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.owners import change_owner_as_sent, owner_fields
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import explain, refused_as
from core.people.api.requested import asked_row, validated_data
from core.people.api.views import person_asking
from core.people.permissions import check_reader, project_for
from research.inference import tasks
from research.inference.forms.runs import RunChoiceForm, RunForm, TryForm
from research.inference.models import Run, RunFailure, RunState
from research.inference.pages.models import ability_of
from research.inference.pages.runs import run_plan
from research.inference.permissions import model_for, models_for, run_for, run_to_give, run_to_steer
from research.inference.selectors.runs import failures_of, runs, trial_details
from research.inference.services import runs as services
from research.inference.services import steering
from research.inference.services.steering import WorkRefusedError

api = ApiOperations("models")
explain({"work-refused": "The run or training cannot be started or changed so; detail says why."})
STEPS = {"pause": steering.pause, "resume": steering.resume, "cancel": steering.cancel, "retry": services.retry}


class RunSerializer(serializers.ModelSerializer[Run]):
    state = serializers.ChoiceField(RunState.choices)
    model = serializers.IntegerField(source="model_id", allow_null=True, help_text="The ID of the model.")
    encoder = serializers.CharField(source="encoder.name", allow_null=True, default=None)
    collection = serializers.SlugField(source="collection.slug")
    languages = serializers.SerializerMethodField()
    project = serializers.SlugField(source="project.slug", allow_null=True, default=None)

    class Meta:
        model = Run
        fields = (
            *("id", "model", "encoder", "collection", "languages", "decoding", "project", "state", "error"),
            *("total", "already", "done", "failed", "created_at", "started_at", "finished_at"),
        )
        read_only_fields = fields

    def get_languages(self, run: Run) -> list[str]:
        return [language.pk for language in run.languages.all()]


class RunFailureSerializer(serializers.ModelSerializer[RunFailure]):
    image = serializers.UUIDField(source="image.public_id", help_text="The ID of the image.")
    language = serializers.CharField(source="language_id", allow_null=True, help_text="Null if an encoder failed.")

    class Meta:
        model = RunFailure
        fields = ("image", "language", "reason", "at")
        read_only_fields = fields


NewRunSerializer = form_shape(
    "NewRun",
    RunForm,
    omit=("project",),
    filled=None,
    model=serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="The ID of the model."),
    collection=serializers.SlugField(help_text="All its images are described."),
    languages=serializers.ListField(child=serializers.CharField(), required=False, help_text="Tags."),
    name=serializers.CharField(required=False, allow_blank=True, help_text="Of the variant, if decoding differs."),
    project=serializers.SlugField(required=False, help_text="The slug of its owner."),
)


class RunPlanSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Of the model that the captions will be stored under.")
    is_variant = serializers.BooleanField()
    is_new_variant = serializers.BooleanField(help_text="Whether this decoding makes a new one.")
    captions = serializers.IntegerField(source="to_make", help_text="How many are to be made.")
    already = serializers.IntegerField(source="there", help_text="How many are there and stay.")
    lacking = serializers.IntegerField(help_text="Images without an English caption, of a model that translates them.")


NewTrialSerializer = form_shape(
    "NewTrial", TryForm, filled=None, key=serializers.CharField(help_text="Key or file name of an image.")
)
RunOwnerSerializer = form_shape("RunOwner", Form, **owner_fields())


class TrialSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(allow_blank=True, help_text="Of the image; empty while it is assigned to you.")
    image = ServedImageSerializer(allow_null=True)
    captions = serializers.DictField(child=serializers.CharField(), help_text="What it wrote, by language.")


@api.list(
    "runs",
    "Runs of models and encoders",
    "RunPage",
    RunSerializer,
    parameters=[OpenApiParameter("model", str, description="Only runs of this model, by its ID.")],
)
def run_list(request: Request) -> Response:
    by = person_asking(request)
    check_reader(by)
    rows = runs(by, asked_row(request, "model", models_for(by), by="pk"), now=timezone.now())
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(RunSerializer))


@api.post(
    "run_start",
    "Have a model describe a collection",
    {202: RunSerializer},
    request=NewRunSerializer,
    description="In some languages, by a worker. What the model has described already stays.",
)
def run_start(request: Request) -> Response:
    about, form = _run_sent(request)
    by = person_asking(request)
    with work_refusals():
        run = services.start(**about, **form.about, **form.owner, by=by, now=timezone.now())
    return run_started(run)


@api.post(
    "run_plan",
    "What a run would do, before it is started",
    RunPlanSerializer,
    request=NewRunSerializer,
    description="Stores nothing.",
)
def run_plan_show(request: Request) -> Response:
    about, form = _run_sent(request)
    images = about["collection"].entries.count()
    return Response(RunPlanSerializer(run_plan(**about, **form.about, images=images)).data)


def _run_sent(request: Request) -> tuple[dict[str, Any], RunForm]:
    """Return the model and the collection, and a valid form of the rest."""
    by = person_asking(request)
    check_reader(by)
    sent = validated_data(NewRunSerializer, request)
    if "project" in sent:
        sent["project"] = project_for(by, sent["project"]).pk
    chosen = filled_form(partial(RunChoiceForm, by=by), {name: sent.pop(name) for name in ("model", "collection")})
    about, codes = chosen.cleaned_data, ability_of(chosen.cleaned_data["model"]).codes
    images = about["collection"].entries.count()
    return about, filled_form(partial(RunForm, **about, images=images, codes=codes, by=by), sent)


@api.get("run", "A run", RunSerializer)
def run_show(request: Request, run_id: int) -> Response:
    return Response(RunSerializer(run_for(person_asking(request), run_id)).data)


@api.list(
    "run_failures",
    "Images that failed in a run, and why",
    "RunFailurePage",
    RunFailureSerializer,
    description="Without those of images that are assigned to you.",
)
def run_failures(request: Request, run_id: int) -> Response:
    by = person_asking(request)
    rows = failures_of(run_for(by, run_id), by)
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(RunFailureSerializer))


@api.patch(
    "run_change",
    "Give a run to another project, or share it",
    RunSerializer,
    request=RunOwnerSerializer,
)
def run_change(request: Request, run_id: int) -> Response:
    by = person_asking(request)
    run = run_to_give(by, run_id)
    sent = validated_data(RunOwnerSerializer, request)
    change_owner_as_sent(sent, thing=run, give=partial(services.change_owner_of_run, run=run), by=by)
    return Response(RunSerializer(run_for(by, run_id)).data)


@api.post(
    "model_try",
    "Have a model describe one image",
    {202: RunSerializer},
    request=NewTrialSerializer,
    description="Only you see its captions, at `trial/` of the run. They are not the model's.",
)
def model_try(request: Request, model_id: int) -> Response:
    by = person_asking(request)
    model = model_for(by, model_id)
    make = partial(TryForm, model=model, codes=ability_of(model).codes, viewer=by, initial={})
    form = sent_form(request, NewTrialSerializer, make)
    with work_refusals():
        run = services.start_trial(model=model, **form.about, by=by, now=timezone.now())
    return run_started(run)


@api.get("trial", "What a model wrote in a trial", TrialSerializer)
def trial_show(request: Request, run_id: int) -> Response:
    by = person_asking(request)
    run = run_for(by, run_id)
    if run.trial_image is None:
        raise Http404(_("This run is not a trial."))
    trial = trial_details(run, by)
    captions = {language.pk: caption["text"] for language, caption in trial.captions}
    image = served_fields(trial.image) if trial.image else None
    return Response(TrialSerializer({"key": trial.key, "image": image, "captions": captions}).data)


@api.post(
    "run_step",
    "Pause, resume or cancel a run, or try its failures again",
    {200: RunSerializer, 202: RunSerializer},
    parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(STEPS))],
)
def run_step(request: Request, run_id: int, action: str) -> Response:
    run = run_to_steer(person_asking(request), run_id)
    if action not in STEPS:
        raise Http404(_("There is no such action."))
    with work_refusals():
        STEPS[action](run, now=timezone.now())
    return run_started(run) if run.is_going else Response(RunSerializer(run).data)


def run_started(run: Run) -> Response:
    tasks.ask_for_run(run)
    return started(RunSerializer(run).data, "run", run.pk)


@job_kind("run")
def run_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for pk in Run.objects.filter(pk__in=pks).values_list("pk", flat=True):
        run = run_for(person_asking(request), pk)
        yield JobReport(
            run.state, reverse("api:run-show", args=[pk]), run.error, run.processed, run.total, run.finished_at
        )


@contextmanager
def work_refusals() -> Iterator[None]:
    with refused_as("work-refused", WorkRefusedError):
        yield


run_list_or_start = one_address(run_list, run_start)
run_show_or_change = one_address(run_show, run_change)
