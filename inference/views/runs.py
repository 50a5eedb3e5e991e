"""Runs: the list of them, starting one, watching it, and what failed."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from inference.models import Run
from inference.pages.failures import failures_page
from inference.pages.runs import RunPage, run_page
from inference.permissions import check_researcher, run_for
from inference.selectors import runs as selectors
from people.requests import is_htmx, user_of

RUNS_PER_PAGE = 50
FAILURES_PER_PAGE = 30
WHOLE_LOG = "whole"


@require_safe
@login_required
def run_list(request: HttpRequest) -> HttpResponse:
    check_researcher(request.user)
    found = selectors.runs()
    asked = request.GET.get("model", "")
    if asked.isdecimal():
        found = found.filter(model=int(asked))
    page = Paginator(found, RUNS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [selectors.run_row(run) for run in page]
    return render(request, "inference/runs.html", {"page": page, "rows": rows})


@require_safe
@never_cache
@login_required
def run_show(request: HttpRequest, run_id: int) -> HttpResponse:
    run = run_for(request.user, run_id)
    page = _page(run, is_whole=request.GET.get("log") == WHOLE_LOG)
    return render(request, "inference/run.html", {"run": run, "page": page})


@require_safe
@never_cache
@login_required
def run_progress(request: HttpRequest, run_id: int) -> HttpResponse:
    """The part that asks for itself again, with the log where it has grown; in the end the whole page comes anew."""
    run = run_for(request.user, run_id)
    if not is_htmx(request):
        return redirect("inference:run-show", run.pk)
    page = _page(run)
    has_grown = request.GET.get("last") != str(page.log.last)
    response = render(request, "inference/_run_progress.html", {"run": run, "page": page, "has_grown": has_grown})
    if not page.is_going:
        response["HX-Refresh"] = "true"
    return response


@require_safe
@never_cache
@login_required
def run_failures(request: HttpRequest, run_id: int) -> HttpResponse:
    run = run_for(request.user, run_id)
    failures = selectors.failures_of(run, user_of(request))
    page = Paginator(failures, FAILURES_PER_PAGE).get_page(request.GET.get("page"))
    context = {"run": run, "page": page, "failures": failures_page(run, page, failures, user_of(request))}
    return render(request, "inference/run_failures.html", context)


@require_POST
@login_required
def run_pause(request: HttpRequest, run_id: int) -> HttpResponse:
    raise Http404


@require_POST
@login_required
def run_resume(request: HttpRequest, run_id: int) -> HttpResponse:
    raise Http404


@require_POST
@login_required
def run_cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    raise Http404


@require_POST
@login_required
def run_retry(request: HttpRequest, run_id: int) -> HttpResponse:
    raise Http404


@require_POST
@login_required
def run_create(request: HttpRequest, run_id: int) -> HttpResponse:
    raise Http404


def _page(run: Run, *, is_whole: bool = False) -> RunPage:
    return run_page(selectors.run_details(run, now=timezone.now()), selectors.log_of(run, is_whole=is_whole))
