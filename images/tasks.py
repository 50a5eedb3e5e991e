"""Celery tasks of images. The rows are the truth; a sweep sends lost messages again."""

from django.db import transaction
from django.utils import timezone

from images.models import ImportKind
from images.services import images, imports, jobs
from people.rules.queue import shared_task


@shared_task
def make_sizes(image_id: int) -> None:
    images.make_sizes(image_id=image_id, now=timezone.now())


@shared_task
def run_import(job_id: int) -> None:
    imports.run_import(job_id=job_id, clock=timezone.now, announce=ask_for_sizes)


@shared_task
def sweep_images() -> None:
    for image_id in images.images_waiting(now=timezone.now()):
        make_sizes.delay(image_id)


@shared_task
def sweep_imports() -> None:
    for job_id in jobs.jobs_waiting(kind=ImportKind.IMAGES, now=timezone.now()):
        run_import.delay(job_id)


def ask_for_sizes(image_id: int) -> None:
    """Send the task after the transaction commits; if the queue cannot be reached, the sweep sends it later."""
    transaction.on_commit(lambda: make_sizes.delay(image_id), robust=True)


def ask_for_import(job_id: int) -> None:
    transaction.on_commit(lambda: run_import.delay(job_id), robust=True)
