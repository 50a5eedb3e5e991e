"""Background tasks of the allocation."""

from django.utils import timezone

from core.allocation.services import sweeps
from core.allocation.services.lifecycle import expire_overdue
from core.jobs.tasks import shared_task


@shared_task
def sweep_leases() -> None:
    expire_overdue(now=timezone.now())
    sweeps.record_sweep(now=timezone.now())
