"""Store the outcomes of a run's chunks with its counters, and log what failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Case, F, Value, When
from django.utils.translation import ngettext

from crosslens_metrics.formats.records import printable
from research.inference.backends.captioners import FailedImage
from research.inference.models import UNFINISHED_STATES, Run, RunFailure, RunState
from research.inference.services import chunks
from research.inference.services.job_kind import WHOLE, JobKind, PartOutcome
from research.inference.services.prefetcher import ClaimedChunk
from research.inference.services.steering import log_event
from research.inference.services.worker_status import meter

STORE_ATTEMPTS = 3
RETRY_AFTER_S = 0.2


class OutcomeStore:
    """Stores what one worker makes for one run."""

    def __init__(self, run: Run, job_kind: JobKind, worker: str, clock: Callable[[], datetime]) -> None:
        self.run, self.job_kind, self.worker, self.clock = run, job_kind, worker, clock

    def store(self, claimed: ClaimedChunk, outcomes: Sequence[PartOutcome], *, is_complete: bool) -> bool:
        """Store the outcomes, again where the database refused them for a moment; see `store_once`."""
        before = claimed.chunk.lease_until, claimed.chunk.attempts
        for attempts_left in reversed(range(STORE_ATTEMPTS)):
            try:
                return self.store_once(claimed, outcomes, is_complete=is_complete)
            except (IntegrityError, OperationalError):
                # Another run stored the same captions, or the database was away for a moment.
                claimed.chunk.lease_until, claimed.chunk.attempts = before
                if not attempts_left:
                    raise
                connection.close_if_unusable_or_obsolete()
                time.sleep(RETRY_AFTER_S)
        raise AssertionError("not reached")

    def store_once(self, claimed: ClaimedChunk, outcomes: Sequence[PartOutcome], *, is_complete: bool) -> bool:
        """Store the outcomes in one transaction; returns whether the run is to continue."""
        now = self.clock()
        first_part = self.job_kind.first_part
        good = [outcome for outcome in outcomes if not isinstance(outcome.result, FailedImage)]
        failed = [o for o in outcomes if isinstance(o.result, FailedImage) and o.part != first_part]
        counted = sum(outcome.part != first_part for outcome in good)
        with transaction.atomic():
            chunks.record_stored(claimed.chunk, now=now, is_complete=is_complete)
            done = self.job_kind.store(claimed.chunk, good, now=now) if good or is_complete else 0
            RunFailure.objects.bulk_create(
                RunFailure(
                    run=self.run,
                    image_id=outcome.image.image_id,
                    language_id=None if outcome.part == WHOLE else outcome.part,
                    reason=printable(outcome.result.reason),
                    at=now,
                )
                for outcome in failed
            )
            run = Run.objects.filter(pk=self.run.pk)
            run.update(
                done=F("done") + done,
                failed=F("failed") + len(failed),
                already=F("already") + counted - done,
                state=Case(When(state=RunState.QUEUED, then=Value(RunState.RUNNING)), default=F("state")),
            )
            is_going = run.filter(state__in=UNFINISHED_STATES).exists()
        meter.note(made=done)
        return is_going

    def log_failures(self, claimed: ClaimedChunk) -> None:
        if not claimed.reasons:
            return
        count = claimed.reasons.total()
        message = ngettext("%(count)s failed: %(reasons)s", "%(count)s failed: %(reasons)s", count)
        reasons = "; ".join(f"{reason} ({number})" for reason, number in claimed.reasons.most_common(3))
        message %= {"count": count, "reasons": reasons}
        traceback, now = claimed.traceback, self.clock()
        log_event(self.run, message, worker=self.worker, is_warning=True, traceback=traceback, now=now)
