"""List, start and watch runs."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from core.images.models import Collection
from core.people.permissions import check_reader
from core.people.requests import RefusalsShown, render_part, user_of
from core.people.views.ownership import owner_page
from research.inference import tasks
from research.inference.forms.runs import RunChoiceForm, RunForm
from research.inference.models import CaptioningModel
from research.inference.pages.models import ability_of
from research.inference.pages.runs import decoding_lines, failures_page, run_plan
from research.inference.permissions import may_give_run, may_steer, run_for, run_to_give
from research.inference.selectors import runs as selectors
from research.inference.selectors.runs import trial_details
from research.inference.services import runs as services
from research.inference.services.steering import WorkRefusedError

RUNS_PER_PAGE = 50
FAILURES_PER_PAGE = 30
WHOLE_LOG = "whole"
NUMBER = re.compile(r"\d{1,18}", re.ASCII)


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    asked = request.GET.get("model", "")
    model = selectors.model_of_runs(int(asked), user_of(request)) if NUMBER.fullmatch(asked) else None
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
