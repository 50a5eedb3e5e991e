"""Which images a player has in hand."""

from __future__ import annotations

from django.db.models import QuerySet

from gapgame.models import UNFINISHED, ItemImage, Turn
from people.models import User


def assigned_images(person: User) -> QuerySet[ItemImage, int]:
    """Images of sentences that `person` has yet to guess: what is said of them elsewhere may tell the word.

    Without those of seasons that are closed: they never come back.
    """
    turns = Turn.objects.filter(player__user=person, player__season__closed_at=None, outcome__in=UNFINISHED)
    return ItemImage.objects.filter(item__in=turns.values("item")).values_list("image", flat=True)
