"""Celery tasks of imports. The rows are the truth; the sweep sends lost messages again."""

from __future__ import annotations

from django.utils import timezone

from core.images.models import ImportJob, ImportKind
from core.images.tasks import ask_for_sizes
from core.jobs.tasks import job, shared_task
from office.imports.services import stages

RUN_BY_COMMANDS = [kind for kind in ImportKind if kind not in (ImportKind.FILES, ImportKind.IMAGES)]
"""Only a part of another import, or a command's, which is closed if that died."""


@shared_task
def run_import(job_id: int) -> None:
    stages.run(job_id=job_id, clock=timezone.now, announce=ask_for_sizes)


ask_for_stage = job(run_import, ImportJob.objects.filter(kind__in=(ImportKind.FILES, *RUN_BY_COMMANDS), part_of=None))
