"""Background work of the game: the rows tell what is due."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from gapgame.services import closing, marking


@shared_task
def sweep_seasons() -> None:
    """Close what has reached its cut-off, and look through new play for scripts."""
    now = timezone.now()
    closing.close_overdue(now=now)
    marking.check_players(now=now)
