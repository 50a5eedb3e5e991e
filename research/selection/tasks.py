"""Celery tasks of choosing images by place. The rows are the truth; the sweep sends lost messages again."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from core.images.models import Collection
from core.jobs.tasks import job, shared_task
from research.selection.models import Selection
from research.selection.services import places, selections

PLACES_AT_ONCE = 20_000
"""Images that one sweep looks up; the next one continues."""


@shared_task
def choose_images(selection_id: int) -> None:
    selections.run_selection(selection_id=selection_id, clock=timezone.now)


ask_for_choice = job(choose_images, Selection.objects.all())


def sweep_places() -> None:
    places.locate_images(at_most=PLACES_AT_ONCE)


@shared_task
def locate_collection(collection_id: int) -> None:
    collection = Collection.objects.filter(pk=collection_id).first()
    if collection is not None:
        places.locate_images(collection=collection)


def ask_for_places(collection_id: int) -> None:
    transaction.on_commit(lambda: locate_collection.delay(collection_id), robust=True)
