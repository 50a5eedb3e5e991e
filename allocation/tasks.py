"""Background tasks of the allocation."""

from celery import shared_task
from django.utils import timezone

from allocation.services import sweeps
from allocation.services.lifecycle import expire_overdue


@shared_task
def sweep_leases() -> None:
    expire_overdue(now=timezone.now())
    sweeps.note(now=timezone.now())
