"""Background tasks of the allocation."""

from django.utils import timezone

from core.allocation.services.lifecycle import expire_overdue, record_sweep
from core.jobs.tasks import shared_task


@shared_task
def sweep_leases() -> None:
    expire_overdue(now=timezone.now())
    record_sweep(now=timezone.now())
