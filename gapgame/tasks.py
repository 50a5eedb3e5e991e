"""Background work of the game: the rows tell what is due."""

from __future__ import annotations

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from corpus.models import ImportKind
from corpus.services import jobs
from corpus.tasks import ask_for_sizes
from gapgame.services import closing, item_imports, marking


@shared_task
def sweep_seasons() -> None:
    """Close what has reached its cut-off, and look through new play for scripts."""
    now = timezone.now()
    closing.close_overdue(now=now)
    marking.check_players(now=now)


@shared_task
def run_item_import(job_id: int) -> None:
    item_imports.run_import(job_id=job_id, clock=timezone.now, announce=ask_for_sizes)


@shared_task
def sweep_item_imports() -> None:
    for job_id in jobs.jobs_waiting(kind=ImportKind.ITEMS, now=timezone.now()):
        run_item_import.delay(job_id)


def ask_for_item_import(job_id: int) -> None:
    """Have it run once the transaction is through. With the queue out of reach, the sweep does it later."""
    transaction.on_commit(lambda: run_item_import.delay(job_id), robust=True)
