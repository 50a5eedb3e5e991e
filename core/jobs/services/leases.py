"""Lease rows with background work: one worker at a time has a row, and another continues where it falls silent.

The end of a lease is later each time, by a microsecond at least, so that it identifies its holder.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import F, Model, Q, QuerySet
from django.utils import translation

from core.jobs.models import OPEN_STATES, Due, Job, JobState, Leased
from crosslens_metrics.formats.records import printable

Row = TypeVar("Row", bound=Leased)
DueRow = TypeVar("DueRow", bound=Due)
AnyRow = TypeVar("AnyRow", bound=Model)

LEASE = timedelta(minutes=1)
"""How long a worker may be silent before another one continues its work."""

NUDGE_AFTER = timedelta(minutes=1)
"""How long the message that starts a job may be on its way before it is sent again."""

SWEPT_AT_ONCE = 500


class LeaseLostError(Exception):
    """Another worker has taken over, or the row was deleted. Nothing of the transaction may stay."""


def working_for(person: Any) -> ExitStack[bool]:
    """Work in the language of who asked for it, or of the site; the work ends here where the lease is lost."""
    language = person.interface_language if person else ""
    stack: ExitStack[bool] = ExitStack()
    stack.enter_context(translation.override(language or settings.LANGUAGE_CODE))  # type: ignore[arg-type]
    stack.enter_context(suppress(LeaseLostError))
    return stack


def claim(rows: QuerySet[Row], *, now: datetime, skip_locked: bool = False, **values: Any) -> Row | None:
    """Claim the first of `rows` that no worker has; None if there is none. With `skip_locked` nobody waits."""
    with transaction.atomic():
        row = free(rows, now=now).select_for_update(of=("self",), no_key=True, skip_locked=skip_locked).first()
        if row is None:
            return None
        values |= {"state": JobState.RUNNING, "lease_until": now + LEASE, "attempts": row.attempts + 1}
        return _saved(row, values)


def _saved(row: AnyRow, values: dict[str, Any]) -> AnyRow:
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=values)
    return row


def held_row(row: Row) -> QuerySet[Row]:
    """Find `row` as long as this lease of it lasts."""
    return type(row)._default_manager.filter(pk=row.pk, state=JobState.RUNNING, lease_until=row.lease_until)


def next_end(row: Leased, now: datetime) -> datetime:
    return max(now + LEASE, (row.lease_until or now) + timedelta(microseconds=1))


def renewed_lease(row: Leased, *, now: datetime, **values: Any) -> datetime:
    """Renew the lease, and store `values` with it; returns its new end.

    Raises LeaseLostError.
    """
    until = next_end(row, now)
    if not held_row(row).update(**{"lease_until": until} | values):
        raise LeaseLostError(row.pk)
    return until


def finish_row(row: Job, *, now: datetime, error: str = "", **values: Any) -> bool:
    """End the work, as failed where there is an `error`; returns whether this lease of it still lasted."""
    state = JobState.FAILED if error else JobState.DONE
    values |= {"state": state, "error": printable(error), "lease_until": None, "finished_at": now}
    return bool(held_row(row).update(**values))


def queue_again(row: Leased, **values: Any) -> None:
    """Let any worker continue."""
    held_row(row).update(**{"state": JobState.QUEUED, "lease_until": None} | values)


def free(rows: QuerySet[Row], *, now: datetime) -> QuerySet[Row]:
    """Find those of `rows` that are to be done and that no worker has."""
    return rows.filter(Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING) & _is_over(now))


def _is_over(now: datetime) -> Q:
    return Q(lease_until__isnull=True) | Q(lease_until__lte=now)


def silent_rows(rows: QuerySet[Row], *, now: datetime) -> QuerySet[Row]:
    """Find those of `rows` that were never started or whose worker fell silent."""
    return rows.filter(_is_over(now), state__in=OPEN_STATES)


def rows_to_nudge(rows: QuerySet[Row], *, now: datetime) -> list[int]:
    """List silent rows for a sweep to send their messages again, each at most once a while."""
    longest_waiting = silent_rows(rows, now=now).order_by(F("lease_until").asc(nulls_first=True), "pk")
    waiting = list(longest_waiting.values_list("pk", flat=True)[:SWEPT_AT_ONCE])
    rows.filter(pk__in=waiting, state=JobState.QUEUED).update(lease_until=now + NUDGE_AFTER)
    return waiting


def due_rows(rows: QuerySet[DueRow], *, now: datetime) -> list[int]:
    """List those of `rows` that are to be sent now, the longest due first."""
    return list(rows.filter(due_at__lte=now).order_by("due_at", "pk").values_list("pk", flat=True)[:SWEPT_AT_ONCE])


def claim_due(
    rows: QuerySet[DueRow],
    *,
    now: datetime,
    pause: Callable[[int], timedelta] = lambda _attempts: timedelta(),
    **values: Any,
) -> DueRow | None:
    """Claim the only row of `rows`, if it is due and nobody else is claiming it.

    The attempt is counted and the next one put off by `pause` of the attempts before it is made: a worker that dies
    costs only one pause.
    """
    with transaction.atomic():
        row = rows.filter(due_at__lte=now).select_for_update(of=("self",), no_key=True, skip_locked=True).first()
        if row is None:
            return None
        attempts = row.attempts + 1
        return _saved(row, values | {"attempts": attempts, "due_at": now + pause(attempts)})


def growing_pause(attempts: int, *, first: timedelta, grows_by: int) -> timedelta:
    """Return the pause after attempt number `attempts`."""
    pause: timedelta = first * grows_by ** (attempts - 1)
    return pause
