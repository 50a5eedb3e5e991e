"""Celery tasks of choosing images by place. The rows are the truth; a sweep sends lost messages again."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from corpora.services import candidate_imports, places, selections
from images.models import Collection, ImportKind
from images.services import jobs
from people.rules.queue import shared_task

PLACES_AT_ONCE = 20_000
"""Images that one sweep looks up; the next one continues."""


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


@shared_task
def sweep_places() -> None:
    places.locate_images(at_most=PLACES_AT_ONCE)


@shared_task
def locate_collection(collection_id: int) -> None:
    collection = Collection.objects.filter(pk=collection_id).first()
    if collection is not None:
        places.locate_images(collection=collection)


def ask_for_places(collection_id: int) -> None:
    transaction.on_commit(lambda: locate_collection.delay(collection_id), robust=True)


@shared_task
def run_candidate_import(job_id: int) -> None:
    candidate_imports.run_import(job_id=job_id, clock=timezone.now)


@shared_task
def sweep_candidate_imports() -> None:
    for job_id in jobs.jobs_waiting(kind=ImportKind.CANDIDATES, now=timezone.now()):
        run_candidate_import.delay(job_id)


def ask_for_candidate_import(job_id: int) -> None:
    transaction.on_commit(lambda: run_candidate_import.delay(job_id), robust=True)
