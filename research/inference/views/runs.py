"""List, start, watch and steer runs and trainings, try models, and list the workers."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.images.models import Collection
from core.people.permissions import check_reader
from core.people.requests import RefusalsShown, is_htmx, render_part, user_of
from core.people.views.ownership import owner_page
from research.inference import tasks
from research.inference.forms.runs import RunChoiceForm, RunForm, TryForm
from research.inference.models import CaptioningModel, Run, Training
from research.inference.pages.models import ability_of
from research.inference.pages.runs import decoding_lines, failures_page, run_plan, training_page
from research.inference.permissions import (
    may_give_run,
    may_steer,
    model_for,
    models_for,
    run_for,
    run_to_give,
    run_to_steer,
    runs_for,
    training_for,
    training_to_steer,
    trainings_for,
)
from research.inference.selectors import runs as selectors
from research.inference.selectors.runs import training_details, trainings, trial_details, worker_rows
from research.inference.services import runs as services
from research.inference.services import steering
from research.inference.services.steering import WorkRefusedError
from research.inference.services.worker_status import DEFAULT, GPU

RUNS_PER_PAGE = 50
FAILURES_PER_PAGE = 30
WHOLE_LOG = "whole"
NUMBER = re.compile(r"\d{1,18}", re.ASCII)
TRAININGS_PER_PAGE = 50
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


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    asked = request.GET.get("model", "")
    model = models_for(request.user).filter(pk=int(asked)).first() if NUMBER.fullmatch(asked) else None
    runs = selectors.runs(user_of(request), model, now=timezone.now())
    page = Paginator(runs, RUNS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "inference/runs.html", {"page": page, "model": model})


@require_http_methods(["GET", "HEAD", "POST"])
def run_create(request: HttpRequest) -> HttpResponse:
    """Start a run in two steps at one address: the second depends on model and collection."""
    check_reader(request.user)
    is_asked = "model" in request.GET and "collection" in request.GET
    chosen = RunChoiceForm(request.GET if is_asked else None, initial=request.GET.dict(), by=user_of(request))
    if not chosen.is_valid():
        context = {"form": chosen, "has_models": chosen.has_models, "has_collections": chosen.has_collections}
        return render(request, "inference/run_choice.html", context)
    return _create(request, **chosen.cleaned_data)


def _create(request: HttpRequest, model: CaptioningModel, collection: Collection) -> HttpResponse:
    ability, images = ability_of(model), collection.entries.count()
    form_options: dict[str, Any] = {"model": model, "collection": collection, "images": images, "codes": ability.codes}
    form = RunForm(request.POST or None, **form_options, by=user_of(request))
    plan = None
    if form.is_valid():
        plan = run_plan(model=model, collection=collection, images=images, **form.about)
        if "count" not in request.POST:
            with RefusalsShown(form, WorkRefusedError):
                options = {"model": model, "collection": collection, **form.about, **form.owner}
                run = services.start(**options, by=user_of(request), now=timezone.now())
                tasks.ask_for_run(run)
                return redirect("inference:run-show", run.pk)
    context = {"form": form, "model": model, "collection": collection, "images": images, "plan": plan}
    context |= {"ability": ability, "unknown": sorted({*ability.codes} - {*form.by_tag})}
    is_refused = bool(form.errors) and "count" not in request.POST
    return render(request, "inference/run_create.html", context, status=422 if is_refused else 200)


@require_safe
def run_show(request: HttpRequest, run_id: int) -> HttpResponse:
    run = run_for(request.user, run_id)
    context = {"run": run, "details": selectors.run_details(run, now=timezone.now())}
    context |= {"log": selectors.log_of(run, is_whole=request.GET.get("log") == WHOLE_LOG)}
    context |= {"decoding": decoding_lines(run.decoding)}
    context["trial"] = trial_details(run, user_of(request)) if run.trial_image is not None else None
    context |= {"may_steer": may_steer(request.user, run), "may_give": may_give_run(request.user, run)}
    return render(request, "inference/run.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def run_owner(request: HttpRequest, run_id: int) -> HttpResponse:
    run = run_to_give(request.user, run_id)
    return owner_page(
        request,
        thing=run,
        give=partial(services.change_owner_of_run, run=run),
        back=reverse("inference:run-show", args=[run_id]),
        context={
            "name": _("Run %(number)s") % {"number": run.pk},
            "breadcrumb": "inference/_breadcrumb.html",
            "run": run,
        },
    )


@require_safe
def run_progress(request: HttpRequest, run_id: int) -> HttpResponse:
    """Show the part that refreshes itself, with the log if it has grown; at the end the whole page is reloaded."""
    run = run_for(request.user, run_id)
    details, log = selectors.run_details(run, now=timezone.now()), selectors.log_of(run)
    context = {"run": run, "details": details, "log": log, "has_grown": request.GET.get("last") != str(log.last)}
    page = reverse("inference:run-show", args=[run.pk])
    return render_part(request, "inference/_run_progress.html", context, page=page, is_over=not run.is_going)


@require_safe
def run_failures(request: HttpRequest, run_id: int) -> HttpResponse:
    run = run_for(request.user, run_id)
    failures = selectors.failures_of(run, user_of(request))
    page = Paginator(failures, FAILURES_PER_PAGE).get_page(request.GET.get("page"))
    context = {"run": run, "page": page, "failures": failures_page(run, page, failures)}
    context["can_retry"] = run.can_retry and may_steer(request.user, run)
    return render(request, "inference/run_failures.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def model_try(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_for(request.user, model_id)
    ability = ability_of(model)
    sent = request.POST if request.method == "POST" and ability.codes else None
    initial = {name: request.GET[name] for name in ("collection", "key") if name in request.GET}
    form = TryForm(sent, model=model, codes=ability.codes, viewer=user_of(request), initial=initial)
    if form.is_valid():
        with RefusalsShown(form, WorkRefusedError):
            run = services.start_trial(model=model, **form.about, by=user_of(request), now=timezone.now())
            tasks.ask_for_run(run)
            return redirect("inference:run-show", run.pk)
    context = {"model": model, "ability": ability, "form": form}
    return render(request, "inference/trial_create.html", context, status=422 if form.errors else 200)


@require_safe
def training_list(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    page = Paginator(trainings(user_of(request)), TRAININGS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "inference/trainings.html", {"page": page})


@require_safe
def training_show(request: HttpRequest, training_id: int) -> HttpResponse:
    training = training_for(request.user, training_id)
    details = training_details(training, user_of(request), now=timezone.now())
    context = {"training": training, "details": details, "page": training_page(training, details)}
    context["may_steer"] = may_steer(request.user, training)
    return render(request, "inference/training.html", context)


@require_safe
def training_progress(request: HttpRequest, training_id: int) -> HttpResponse:
    """Show the part that refreshes itself; at the end the whole page is reloaded."""
    training = training_for(request.user, training_id)
    details = training_details(training, user_of(request), now=timezone.now())
    context = {"training": training, "details": details, "page": training_page(training, details)}
    page = reverse("inference:training-show", args=[training.pk])
    is_over = not training.is_going
    return render_part(request, "inference/_training_progress.html", context, page=page, is_over=is_over)


@require_safe
def training_card(request: HttpRequest, training_id: int) -> HttpResponse:
    """Download the model card."""
    training = training_for(request.user, training_id)
    if not training.card:
        raise Http404(_("There is no such page."))
    name = f"{slugify(training.name) or 'model'}-card.md"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(training.card, content_type="text/markdown; charset=utf-8", headers=headers)


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


@require_safe
def worker_list(request: HttpRequest) -> HttpResponse:
    """Show the whole page or, to its script, the part that refreshes itself."""
    check_reader(request.user)
    rows = worker_rows(now=timezone.now())
    runs = {row.worker.run_id for row in rows if row.worker.run_id is not None}
    trainings = {row.worker.training_id for row in rows if row.worker.training_id is not None}
    context = {
        "there": [row for row in rows if row.is_there],
        "gone": [row for row in rows if not row.is_there],
        "without_worker": [name for name in (DEFAULT, GPU) if not any(row.listens_to(name) for row in rows)],
        "shown_runs": set(runs_for(user_of(request)).filter(pk__in=runs).values_list("pk", flat=True)),
        "shown_trainings": set(trainings_for(user_of(request)).filter(pk__in=trainings).values_list("pk", flat=True)),
    }
    return render(request, "inference/_workers.html" if is_htmx(request) else "inference/workers.html", context)
