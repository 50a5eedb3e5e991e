"""Celery tasks of choosing images by place. The rows are the truth; a sweep sends lost messages again."""

from __future__ import annotations

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from corpora.services import selections


@shared_task
def choose_images(selection_id: int) -> None:
    selections.run_selection(selection_id=selection_id, clock=timezone.now)


@shared_task
def sweep_selections() -> None:
    for selection_id in selections.selections_waiting(now=timezone.now()):
        choose_images.delay(selection_id)


def ask_for_choice(selection_id: int) -> None:
    """Send the task after the transaction commits; if the queue cannot be reached, the sweep sends it later."""
    transaction.on_commit(lambda: choose_images.delay(selection_id), robust=True)
