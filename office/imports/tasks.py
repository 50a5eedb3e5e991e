"""Celery tasks of imports. The rows are the truth; the sweep sends lost messages again."""

from __future__ import annotations

from django.utils import timezone

from core.images.models import ImportJob
from core.images.tasks import ask_for_sizes
from core.jobs.tasks import job, shared_task
from office.imports.services import stages


@shared_task
def run_import(job_id: int) -> None:
    stages.run(job_id=job_id, clock=timezone.now, announce=ask_for_sizes)


# One of another kind is a command's, which is closed if that died.
ask_for_stage = job(run_import, ImportJob.objects.filter(part_of=None))
