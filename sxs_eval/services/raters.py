"""A manager's decision about raters: pause, restore or exclude."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from core.allocation.services.lifecycle import reject_work
from core.people.models import User
from core.people.services import audit_log
from sxs_eval.models import LEFT_OUT, Comparison, RaterState, RaterStatus
from sxs_eval.services.comparisons import name_of


def restore_rater(*, comparison: Comparison, rater: User, note: str, by: User, now: datetime) -> RaterStatus:
    """Restore a paused rater: all their judgements count again, and earlier attention items are forgiven.

    An excluded rater stays excluded: their pairs were assigned to others.
    """
    with transaction.atomic():
        status = RaterStatus.objects.select_for_update(no_key=True).get(comparison=comparison, person=rater)
        if status.state == RaterState.PAUSED:
            status.checks_from = now
            _decide(status, RaterState.RESTORED, note, by, now)
            _record("rater.restored", comparison, rater, note, by, now)
    return status


def pause_raters(*, comparison: Comparison, raters: Iterable[User], note: str, by: User, now: datetime) -> int:
    """Pause raters: none of their judgements counts until a manager decides; return how many were not paused before.

    Excluded raters stay excluded.
    """
    paused = 0
    for rater in raters:
        with transaction.atomic():
            RaterStatus.objects.get_or_create(
                comparison=comparison, person=rater, defaults={"state": RaterState.RESTORED}
            )
            status = RaterStatus.objects.select_for_update(no_key=True).get(comparison=comparison, person=rater)
            if status.state == RaterState.RESTORED:
                status.paused_at = now
                _decide(status, RaterState.PAUSED, note, by, now)
                _record("rater.paused", comparison, rater, note, by, now)
                paused += 1
    return paused


def exclude_rater(*, comparison: Comparison, rater: User, note: str, by: User, now: datetime) -> int:
    """Exclude a rater: their judgements are kept but never count, others judge those pairs; return how many.

    Repeating it changes nothing.
    """
    with transaction.atomic():
        freed = reject_work(pool=comparison.pool, person=rater, now=now)
        status, _is_new = RaterStatus.objects.get_or_create(comparison=comparison, person=rater)
        if status.state not in LEFT_OUT:
            _decide(status, RaterState.EXCLUDED, note, by, now)
            _record("rater.excluded", comparison, rater, note, by, now)
    return freed


def _decide(status: RaterStatus, state: RaterState, note: str, by: User, now: datetime) -> None:
    status.state, status.note, status.decided_by, status.decided_at = state, note, by, now
    status.save(update_fields=["state", "note", "decided_by", "decided_at", "paused_at", "checks_from"])


def _record(action: str, comparison: Comparison, rater: User, note: str, by: User, now: datetime) -> None:
    about, details = name_of(comparison), {"reason": note} if note else {}
    audit_log.record(
        project=comparison.project, action=action, about=about, by=by, person=rater, now=now, details=details
    )
