"""Background work of the allocation."""

from celery import shared_task
from django.utils import timezone

from allocation import services, sweeps


@shared_task
def sweep_leases() -> None:
    services.expire_overdue(now=timezone.now())
    sweeps.note(now=timezone.now())
