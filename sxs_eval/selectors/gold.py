"""The gold pairs of a comparison, for managers to decide which are good."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from sxs_eval.models import Comparison, GoldPair


def gold_pairs_of(comparison: Comparison) -> QuerySet[GoldPair]:
    """List gold pairs with how many raters answered them and failed.

    Those that most raters failed come first: their better caption may not be better.
    """
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
