"""Chunks of a run: who works on which, for how long, and what happens to those of a worker that is gone."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from images.models import JobState
from inference.models import Chunk

LEASE = timedelta(minutes=1)
"""How long a worker may be silent before another one takes its chunk up where it was."""

RENEW_EVERY_S = 15.0

NUDGE_AFTER = timedelta(minutes=1)
"""How long a message about a run may be on its way before it is sent again."""

SKIP_AFTER_ATTEMPTS = 4
"""After so many starts that ended without a word, the next image is taken to be what ends them."""


class LeaseLostError(Exception):
    """Another worker has the chunk, or it is gone."""


def claimable(*, now: datetime) -> QuerySet[Chunk]:
    """Chunks that nobody works on."""
    return Chunk.objects.filter(Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING, lease_until__lte=now))


def claim(*, run_id: int, worker: str, now: datetime) -> tuple[Chunk, str] | None:
    """The next chunk that nobody works on, and who was silent about it (or ""); None where there is none."""
    with transaction.atomic():
        # Those that others are taking at this moment are skipped, so that nobody waits.
        found = claimable(now=now).filter(run_id=run_id).order_by("position")
        chunk = found.select_for_update(skip_locked=True, no_key=True, of=("self",)).first()
        if chunk is None:
            return None
        silent = chunk.holder
        chunk.state, chunk.lease_until, chunk.holder = JobState.RUNNING, _later(chunk, now), worker
        chunk.attempts += 1
        chunk.save(update_fields=["state", "lease_until", "holder", "attempts"])
        return chunk, silent


def extend(chunk: Chunk, *, now: datetime) -> None:
    """
    Raises
    ------
    LeaseLostError
    """
    _update(chunk, now=now)


def stored(chunk: Chunk, *, now: datetime, is_whole: bool) -> None:
    """Something of the chunk is stored in this transaction, or, where `is_whole`, the last of it.

    Raises
    ------
    LeaseLostError
        Nothing of this transaction may stay then.
    """
    if is_whole:
        _update(chunk, now=now, state=JobState.DONE, holder="", attempts=0)
    else:
        _update(chunk, now=now, attempts=0)
    chunk.attempts = 0


def release(chunk: Chunk) -> None:
    """Give it back in order, which is no start that ended without a word."""
    attempts = max(chunk.attempts - 1, 0)
    _held(chunk).update(state=JobState.QUEUED, lease_until=None, holder="", attempts=attempts)


def _update(chunk: Chunk, *, now: datetime, **values: object) -> None:
    until = _later(chunk, now)
    lease = None if values.get("state") == JobState.DONE else until
    if not _held(chunk).update(lease_until=lease, **values):
        raise LeaseLostError(chunk.pk)
    chunk.lease_until = until


def _held(chunk: Chunk) -> QuerySet[Chunk]:
    return Chunk.objects.filter(pk=chunk.pk, state=JobState.RUNNING, lease_until=chunk.lease_until)


def _later(chunk: Chunk, now: datetime) -> datetime:
    # A microsecond more each time: the lease is what tells one holder from the next.
    return max(now + LEASE, (chunk.lease_until or now) + timedelta(microseconds=1))
