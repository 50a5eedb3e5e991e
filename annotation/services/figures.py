"""What pages show of a round but do not count themselves: its places, kept by whoever changes them."""

from __future__ import annotations

from django.db.models import Count, Sum

from allocation.models import Task
from annotation.models import Round, RoundFigures


def places_changed(*, round: Round) -> None:
    """Note how many tasks a round has and how many answers they want; call within the transaction that changed it."""
    counted = Task.objects.filter(pool=round.pool_id).aggregate(tasks=Count("pk"), wanted=Sum("places"))
    places = {"tasks": counted["tasks"], "wanted": counted["wanted"] or 0}
    RoundFigures.objects.update_or_create(round=round, defaults=places)
