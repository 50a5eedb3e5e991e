"""Chunks of a run: who works on which, for how long, and what happens to those of a worker that is gone."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet

from corpus.models import JobState
from inference.models import Chunk

LEASE = timedelta(minutes=1)
"""How long a worker may be silent before another one takes its chunk up where it was."""

RENEW_EVERY_S = 15.0

SKIP_AFTER_ATTEMPTS = 3
"""After so many starts that ended without a word, the next image is taken to be what ends them."""


class LeaseLost(Exception):
    """Another worker has the chunk, or it is gone."""


def claimable(*, now: datetime) -> QuerySet[Chunk]:
    """Chunks that nobody works on."""
    return Chunk.objects.filter(Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING, lease_until__lte=now))


def claim(*, run_id: int, worker: str, now: datetime) -> tuple[Chunk, str] | None:
    """The next chunk that nobody works on, with the worker that was silent about it (or ""); None where there is none."""
    with transaction.atomic():
        # Those that others are taking at this moment are skipped, so that nobody waits.
        found = claimable(now=now).filter(run_id=run_id).order_by("position")
        chunk = found.select_for_update(skip_locked=True, no_key=True, of=("self",)).first()
        if chunk is None:
            return None
        silent = chunk.holder
        chunk.state, chunk.lease_until, chunk.holder = JobState.RUNNING, _later(chunk, now), worker
        chunk.save(update_fields=["state", "lease_until", "holder"])
        return chunk, silent


def begin(chunk: Chunk, *, now: datetime) -> None:
    """Count a start, before the first of its images reaches the model.

    Raises
    ------
    LeaseLost
    """
    _update(chunk, now=now, attempts=F("attempts") + 1)
    chunk.attempts += 1


def extend(chunk: Chunk, *, now: datetime) -> None:
    """
    Raises
    ------
    LeaseLost
    """
    _update(chunk, now=now)


def stored(chunk: Chunk, *, now: datetime, is_whole: bool) -> None:
    """Something of the chunk is stored in this transaction, or, where `is_whole`, the last of it.

    Raises
    ------
    LeaseLost
        Nothing of this transaction may stay then.
    """
    if is_whole:
        _update(chunk, now=now, state=JobState.DONE, holder="", attempts=0)
    else:
        _update(chunk, now=now, attempts=0)
    chunk.attempts = 0


def release(chunk: Chunk, *, is_begun: bool) -> None:
    """Give it back in order, which is no start that ended without a word."""
    held = _held(chunk)
    attempts = max(chunk.attempts - is_begun, 0)
    held.update(state=JobState.QUEUED, lease_until=None, holder="", attempts=attempts)


def _update(chunk: Chunk, *, now: datetime, **values: object) -> None:
    until = _later(chunk, now)
    lease = None if values.get("state") == JobState.DONE else until
    if not _held(chunk).update(lease_until=lease, **values):
        raise LeaseLost(chunk.pk)
    chunk.lease_until = until


def _held(chunk: Chunk) -> QuerySet[Chunk]:
    return Chunk.objects.filter(pk=chunk.pk, state=JobState.RUNNING, lease_until=chunk.lease_until)


def _later(chunk: Chunk, now: datetime) -> datetime:
    # A microsecond more each time: the lease is what tells one holder from the next.
    return max(now + LEASE, (chunk.lease_until or now) + timedelta(microseconds=1))
