"""Background work of the models. The rows are the truth; a message that is lost is sent again by a sweep."""

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from corpus.models import ImportKind
from corpus.services import jobs
from inference.services import imports


@shared_task
def run_caption_import(job_id: int) -> None:
    imports.run_import(job_id=job_id, clock=timezone.now)


@shared_task
def sweep_caption_imports() -> None:
    for job_id in jobs.jobs_waiting(kind=ImportKind.CAPTIONS, now=timezone.now()):
        run_caption_import.delay(job_id)


def ask_for_caption_import(job_id: int) -> None:
    """Have it run once the transaction is through. With the queue out of reach, the sweep does it later."""
    transaction.on_commit(lambda: run_caption_import.delay(job_id), robust=True)
