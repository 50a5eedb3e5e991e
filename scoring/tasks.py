"""Celery tasks of scoring. The rows are the truth; a sweep sends lost messages again."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from images.models import OPEN_STATES, ImportKind
from images.services import jobs
from scoring.models import Pass, Scoring
from scoring.services import reference_imports, scoring_passes, scoring_sweep


@shared_task
def run_pass(pass_id: int) -> None:
    queue = scoring_passes.queue_elsewhere(pass_id=pass_id, now=timezone.now())
    if queue:
        run_pass.apply_async((pass_id,), queue=queue)
    else:
        scoring_passes.run_pass(pass_id=pass_id, clock=timezone.now)


@shared_task
def sweep_passes() -> None:
    for pass_id in scoring_sweep.passes_waiting(now=timezone.now()):
        run_pass.delay(pass_id)


@shared_task
def sweep_scorings() -> None:
    for pass_id in scoring_sweep.ask_where_changed(now=timezone.now()):
        run_pass.delay(pass_id)


def ask_for_passes(scorings: Iterable[Scoring]) -> None:
    """Send tasks for the open passes after the transaction commits; if none can be sent, the sweep sends them later."""
    waiting = Pass.objects.filter(scoring__in=list(scorings), state__in=OPEN_STATES)
    for pass_id in waiting.order_by("pk").values_list("pk", flat=True):
        transaction.on_commit(partial(run_pass.delay, pass_id), robust=True)


@shared_task
def run_reference_import(job_id: int) -> None:
    reference_imports.run_import(job_id=job_id, clock=timezone.now)


@shared_task
def sweep_reference_imports() -> None:
    for job_id in jobs.jobs_waiting(kind=ImportKind.REFERENCES, now=timezone.now()):
        run_reference_import.delay(job_id)


def ask_for_reference_import(job_id: int) -> None:
    transaction.on_commit(lambda: run_reference_import.delay(job_id), robust=True)
