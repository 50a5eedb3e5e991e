"""Pause, resume and cancel runs and trainings, and let runs try again what failed."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from core.people.requests import RefusalsShown
from research.inference import tasks
from research.inference.models import Run, Training
from research.inference.permissions import run_to_steer, training_to_steer
from research.inference.services import steering
from research.inference.services import runs as services

RUN_ACTIONS = {
    "pause": (steering.pause, gettext_lazy("The run is pausing. What is being made right now is still stored.")),
    "resume": (steering.resume, gettext_lazy("The run is resumed.")),
    "cancel": (steering.cancel, gettext_lazy("The run is cancelled. What it has made is kept.")),
    "retry": (services.retry, gettext_lazy("The run is trying the failures again.")),
}
TRAINING_ACTIONS = {
    "pause": (steering.pause, gettext_lazy("The training is pausing. Its worker saves a checkpoint first.")),
    "resume": (steering.resume, gettext_lazy("The training is resumed.")),
    "cancel": (steering.cancel, gettext_lazy("The training is cancelled.")),
}
"""For the last part of an address: what it does, and what it says then."""


@require_POST
def run_steer(request: HttpRequest, run_id: int, action: str) -> HttpResponse:
    run = run_to_steer(request.user, run_id)
    do, said = RUN_ACTIONS[action]
    if _goes_on(request, run, do, said):
        tasks.ask_for_run(run)
    return redirect("inference:run-show", run.pk)


@require_POST
def training_steer(request: HttpRequest, training_id: int, action: str) -> HttpResponse:
    training = training_to_steer(request.user, training_id)
    do, said = TRAINING_ACTIONS[action]
    if _goes_on(request, training, do, said):
        tasks.ask_for_training(training.pk)
    return redirect("inference:training-show", training.pk)


def _goes_on(request: HttpRequest, work: Run | Training, do: Callable[..., object], message: object) -> bool:
    """Do it, and say so; returns whether workers are to be asked."""
    with RefusalsShown(request, steering.WorkRefusedError):
        do(work, now=timezone.now())
        messages.success(request, str(message))
        return work.is_going
    return False
