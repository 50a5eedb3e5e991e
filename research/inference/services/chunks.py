"""Claim the chunks of a run, renew their leases, and take over those of workers that have died."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import F, QuerySet

from core.jobs.models import JobState
from core.jobs.services import leases
from research.inference.models import Chunk

RENEW_EVERY_S = 15.0

NUDGE_AFTER = timedelta(minutes=1)
"""How long after a message about a run it is sent again."""

SKIP_AFTER_ATTEMPTS = 4
"""After so many attempts in which the worker died, the next image is taken to be the cause."""


def claimable_chunks(*, now: datetime) -> QuerySet[Chunk]:
    """Chunks that no worker holds."""
    return leases.free(Chunk.objects.all(), now=now)


def held_chunks(*, now: datetime) -> QuerySet[Chunk]:
    """Chunks that a worker is at."""
    return Chunk.objects.filter(state=JobState.RUNNING, lease_until__gt=now)


def claim(*, run_id: int, worker: str, now: datetime) -> tuple[Chunk, str] | None:
    """Claim the next free chunk; returns it and the name of the worker that fell silent on it, or ""."""
    rows = Chunk.objects.filter(run_id=run_id).annotate(silent=F("holder")).order_by("position")
    chunk = leases.claim(rows, now=now, skip_locked=True, holder=worker)
    return None if chunk is None else (chunk, vars(chunk)["silent"])


def extend(chunk: Chunk, *, now: datetime) -> None:
    """Raises LeaseLostError."""
    _update(chunk, now=now)


def record_stored(chunk: Chunk, *, now: datetime, is_complete: bool) -> None:
    """Record that this transaction stores results of the chunk; if `is_complete`, the last ones.

    Raises LeaseLostError: the transaction must be rolled back.
    """
    if is_complete:
        _update(chunk, now=now, state=JobState.DONE, lease_until=None, holder="", attempts=0)
    else:
        _update(chunk, now=now, attempts=0)
    chunk.attempts = 0


def release(chunk: Chunk) -> None:
    """Release the chunk in order; this does not count as an attempt in which the worker died."""
    attempts = max(chunk.attempts - 1, 0)
    leases.queue_again(chunk, holder="", attempts=attempts)


def _update(chunk: Chunk, *, now: datetime, **values: object) -> None:
    chunk.lease_until = leases.renewed_lease(chunk, now=now, **values)
