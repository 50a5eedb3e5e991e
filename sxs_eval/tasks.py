"""Background tasks of comparisons. The row says what to do; a task only speeds it up."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from core.jobs.tasks import job, shared_task
from sxs_eval.models import Comparison
from sxs_eval.services import comparisons

WAITING = Comparison.objects.filter(awaits_pairs=True)


@shared_task
def fill_comparison(comparison_id: int) -> None:
    # Of several messages, the first one that comes does it.
    if WAITING.filter(pk=comparison_id).exists():
        # It may be deleted meanwhile.
        with suppress(Comparison.DoesNotExist):
            comparisons.fill_comparison(comparison_id=comparison_id)


_nudge_one = job(fill_comparison, WAITING)


def nudge_filling(comparison_ids: Iterable[int]) -> None:
    """Make pairs now; if no message can be sent, the sweep makes them a little later."""
    for comparison_id in comparison_ids:
        _nudge_one(comparison_id)
