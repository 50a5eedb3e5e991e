"""Celery tasks of images. The rows are the truth; the sweep sends lost messages again."""

from django.utils import timezone

from core.images.models import Image, ImportJob, ImportKind
from core.images.services import images, imports
from core.jobs.tasks import job, shared_task


@shared_task
def make_sizes(image_id: int) -> None:
    images.make_sizes(image_id=image_id, now=timezone.now())


@shared_task
def run_import(job_id: int) -> None:
    imports.run_import(job_id=job_id, clock=timezone.now, announce=ask_for_sizes)


ask_for_sizes = job(make_sizes, Image.objects.all())
ask_for_import = job(run_import, ImportJob.objects.filter(kind=ImportKind.IMAGES, part_of=None))
