"""The workers: what each does, and which queues somebody listens to."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from inference.pages.workers import workers_page
from inference.permissions import check_researcher
from inference.selectors.workers import worker_rows
from people.requests import is_htmx, user_of


@require_safe
@login_required
def worker_list(request: HttpRequest) -> HttpResponse:
    """The whole page, or the part of it that asks for itself again."""
    check_researcher(request.user)
    context = {"page": workers_page(worker_rows(now=timezone.now()), user_of(request))}
    return render(request, "inference/_workers.html" if is_htmx(request) else "inference/workers.html", context)
