"""The images assigned to a player."""

from __future__ import annotations

from django.db.models import QuerySet

from core.people.models import User
from gapgame.models import UNFINISHED, ItemImage, Turn


def assigned_images(person: User) -> QuerySet[ItemImage, int]:
    """Return images of sentences that `person` has yet to guess: captions of them elsewhere may reveal the word.

    Closed seasons are left out: their sentences never come back.
    """
    turns = Turn.objects.filter(player__user=person, player__season__closed_at=None, outcome__in=UNFINISHED)
    return ItemImage.objects.filter(item__in=turns.values("item")).values_list("image", flat=True)
