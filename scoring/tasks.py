"""Background work of scoring. The rows are the truth; a message that is lost is sent again by a sweep."""

from celery import shared_task


@shared_task
def sweep_passes() -> None:
    """Nothing waits yet."""
