"""Background tasks of comparisons. The row says what to do; a task only speeds it up."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from django.db import transaction

from people.rules.queue import shared_task
from sxs_eval.models import Comparison
from sxs_eval.services import comparisons


@shared_task
def fill_comparison(comparison_id: int) -> None:
    # It may have been deleted meanwhile.
    with suppress(Comparison.DoesNotExist):
        comparisons.fill_comparison(comparison_id=comparison_id)


@shared_task
def sweep_comparisons() -> None:
    """Make the pairs of comparisons whose message was lost or whose worker died."""
    for comparison_id in Comparison.objects.filter(awaits_pairs=True).order_by("pk").values_list("pk", flat=True):
        fill_comparison(comparison_id)


def _nudge_one(comparison_id: int) -> None:
    # Not a partial: Django would fail to say what could not be called, and with it the request.
    transaction.on_commit(lambda: fill_comparison.delay(comparison_id), robust=True)


def nudge_filling(comparison_ids: Iterable[int]) -> None:
    """Make pairs now; if no message can be sent, the sweep makes them a little later."""
    for comparison_id in comparison_ids:
        _nudge_one(comparison_id)
