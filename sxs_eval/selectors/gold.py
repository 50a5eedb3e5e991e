"""The gold pairs of a comparison, for managers to decide which are good."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from images.selectors import ServedImage, served_image
from people.models import User
from sxs_eval.models import Comparison, GoldPair


@dataclass(frozen=True)
class GoldRow:
    """A gold pair, and how many raters answered it and failed."""

    gold: GoldPair
    image: ServedImage
    answered: int
    failed: int


def gold_pairs_of(comparison: Comparison) -> QuerySet[GoldPair]:
    """List gold pairs, those that most raters failed first: their better caption may not be better."""
    answered = Q(judgements__choice__isnull=False, judgements__is_late=False)
    return (
        GoldPair.objects.filter(comparison=comparison)
        .select_related("image")
        .annotate(
            answered=Count("judgements", filter=answered),
            failed=Count("judgements", filter=answered & Q(judgements__score__lte=0)),
        )
        .order_by("-failed", "pk")
    )


def gold_rows(golds: Iterable[GoldPair], viewer: User) -> list[GoldRow]:
    """Counts over what `gold_pairs_of` returns."""
    return [
        GoldRow(gold, served_image(gold.image, viewer), gold.answered, gold.failed)  # type: ignore[attr-defined]
        for gold in golds
    ]
