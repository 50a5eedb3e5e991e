"""The workers and the queues that they listen to."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from core.people.permissions import check_reader
from core.people.requests import is_htmx, user_of
from research.inference.permissions import runs_for, trainings_for
from research.inference.selectors.runs import worker_rows
from research.inference.services.worker_status import DEFAULT, GPU


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
