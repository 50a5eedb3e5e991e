"""Comparisons that were made by mistake: deleted while nobody has judged in them, or else left out of results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from core.allocation.services.lifecycle import close_pool
from core.allocation.services.locks import lock_pool
from core.people.models import User
from core.people.services import audit_log
from sxs_eval.models import Comparison
from sxs_eval.services.comparisons import ComparisonError, name_of


def delete_comparison(*, comparison: Comparison, by: User, now: datetime) -> None:
    """Delete a comparison with its pairs.

    Raises ComparisonError: a rater has taken pairs: their work is theirs, and stays.
    """
    with transaction.atomic():
        locked = Comparison.objects.select_for_update(no_key=True).get(pk=comparison.pk)
        # Who takes a batch meanwhile has it before this, and counts.
        lock_pool(locked.pool)
        if locked.batches.exists():
            raise ComparisonError(
                _("Raters have taken pairs of this comparison, so it stays. Leave it out of the results instead.")
            )
        name, pool = name_of(locked), locked.pool
        locked.delete()
        pool.delete()
        audit_log.record(
            project=comparison.project, action="comparison.deleted", about=name, by=by, now=now, details={}
        )


def leave_out_comparisons(*, comparisons: Sequence[Comparison], reason: str, by: User, now: datetime) -> int:
    """Leave comparisons of one project out of results, and close them; return how many were in them.

    Their own reports stay, and say so.
    """
    with transaction.atomic():
        return sum(_change(one, excluded_at=now, reason=reason, by=by, now=now) for one in comparisons)


def count_comparisons_again(*, comparisons: Sequence[Comparison], by: User, now: datetime) -> int:
    """Take comparisons into results again; return how many were left out. They stay closed."""
    with transaction.atomic():
        return sum(_change(one, excluded_at=None, reason="", by=by, now=now) for one in comparisons)


def _change(comparison: Comparison, *, excluded_at: datetime | None, reason: str, by: User, now: datetime) -> bool:
    is_in = excluded_at is not None
    others = Comparison.objects.filter(pk=comparison.pk, excluded_at__isnull=is_in)
    if not others.update(excluded_at=excluded_at, exclusion_reason=reason):
        return False
    if is_in:
        close_pool(pool=comparison.pool)
    action = "comparison.left-out" if is_in else "comparison.counted-again"
    details = {"reason": reason} if reason else {}
    audit_log.record(
        project=comparison.project, action=action, about=name_of(comparison), by=by, now=now, details=details
    )
    return True
