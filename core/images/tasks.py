"""Celery tasks of images. The rows are the truth; the sweep sends lost messages again."""

from django.utils import timezone

from core.images.models import Image
from core.images.services import images
from core.jobs.tasks import job, shared_task


@shared_task
def make_sizes(image_id: int) -> None:
    images.make_sizes(image_id=image_id, now=timezone.now())


ask_for_sizes = job(make_sizes, Image.objects.all())
