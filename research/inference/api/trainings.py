"""Trainings of captioning models: follow and steer them. research/scoring/api starts them, on references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.views import person_asking
from core.people.permissions import check_reader
from research.inference import tasks
from research.inference.api.runs import work_refusals
from research.inference.models import RunState, Training
from research.inference.permissions import training_for, training_to_steer, trainings_for
from research.inference.services import steering

api = ApiOperations("models")
STEPS = {"pause": steering.pause, "resume": steering.resume, "cancel": steering.cancel}


class TrainingSerializer(serializers.ModelSerializer[Training]):
    state = serializers.ChoiceField(RunState.choices)
    base = serializers.IntegerField(
        source="base_id", allow_null=True, help_text="The ID of the model that is trained; null for a new small one."
    )
    model = serializers.IntegerField(source="model_id", allow_null=True, help_text="The ID of what it made.")
    project = serializers.SlugField(source="project.slug", allow_null=True, default=None)
    steps = serializers.SerializerMethodField(help_text="At most.")

    class Meta:
        model = Training
        fields = (
            *("id", "name", "base", "model", "project", "state", "error", "step", "steps", "best_step", "best_cider"),
            *("captions", "images", "validation_images", "created_at", "started_at", "finished_at"),
        )
        read_only_fields = fields

    def get_steps(self, training: Training) -> int:
        return int(training.options["steps"])


@api.list("trainings", "Trainings of models", "TrainingPage", TrainingSerializer)
def training_list(request: Request) -> Response:
    user = person_asking(request)
    check_reader(user)
    rows = trainings_for(user).select_related("project")
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(TrainingSerializer))


@api.get("training", "A training", TrainingSerializer)
def training_show(request: Request, training_id: int) -> Response:
    return Response(TrainingSerializer(training_for(person_asking(request), training_id)).data)


@api.post(
    "training_step",
    "Pause, resume or cancel a training",
    {200: TrainingSerializer, 202: TrainingSerializer},
    parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(STEPS))],
)
def training_step(request: Request, training_id: int, action: str) -> Response:
    training = training_to_steer(person_asking(request), training_id)
    if action not in STEPS:
        raise Http404(_("There is no such action."))
    with work_refusals():
        STEPS[action](training, now=timezone.now())
    return training_started(training) if training.is_going else Response(TrainingSerializer(training).data)


def training_started(training: Training) -> Response:
    tasks.ask_for_training(training.pk)
    body: Any = TrainingSerializer(training).data
    return started(body, "training", training.pk)


@job_kind("training")
def training_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for pk in Training.objects.filter(pk__in=pks).values_list("pk", flat=True):
        one = training_for(person_asking(request), pk)
        address = reverse("api:training-show", args=[pk])
        yield JobReport(one.state, address, one.error, one.step, int(one.options["steps"]), one.finished_at)
