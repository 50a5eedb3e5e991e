"""Store what a run's workers made, with its counters and its log, which never contains a caption's words."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.jobs.models import JobState
from crosslens_metrics.formats.records import printable
from research.inference.backends.captioners import FailedImage
from research.inference.models import UNFINISHED_STATES, Chunk, Run, RunFailure, RunState
from research.inference.services import chunks
from research.inference.services.job_kind import WHOLE, JobKind, PartOutcome
from research.inference.services.prefetcher import ClaimedChunk
from research.inference.services.steering import log_event
from research.inference.services.worker_status import meter

STORE_ATTEMPTS = 3
RETRY_AFTER_S = 0.2
LOGGED_FROM_S = 0.5
"""A model that loads faster was in memory already."""


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


def model_loaded(
    *, run: Run, description: Mapping[str, str], took_s: float, batch_size: int, worker: str, now: datetime
) -> None:
    """Note that a worker has loaded the model, so that the run has begun; sets `run.batch_size`."""
    with transaction.atomic():
        rows = Run.objects.filter(pk=run.pk)
        rows.filter(state=RunState.QUEUED).update(state=RunState.RUNNING, started_at=Coalesce(F("started_at"), now))
        # Once something is stored, the size is known to fit; a new run starts with the model's.
        rows.filter(done=0, failed=0).update(batch_size=max(1, batch_size))
        if took_s >= LOGGED_FROM_S or not run.events.filter(worker=worker).exists():
            about = "; ".join(f"{name}: {value}" for name, value in description.items())
            message = _("Model ready after %(seconds)s s. %(about)s") % {"seconds": f"{took_s:.1f}", "about": about}
            log_event(run, message, worker=worker, now=now)
    run.batch_size = rows.values_list("batch_size", flat=True).get()


def batch_size_reduced(*, run: Run, size: int, worker: str, now: datetime) -> None:
    """Note that memory ran out, so that all workers of the run take smaller batches from here on."""
    with transaction.atomic():
        Run.objects.filter(pk=run.pk, batch_size__gt=size).update(batch_size=size)
        message = _("Memory ran out. From here on, batches have %(size)s images.") % {"size": size}
        log_event(run, message, worker=worker, is_warning=True, now=now)


def fail_run(*, run: Run, error: str, worker: str, traceback: str = "", now: datetime) -> None:
    """Fail the run: it cannot continue until somebody fixes the fault and resumes it."""
    with transaction.atomic():
        going = Run.objects.filter(pk=run.pk, state__in=UNFINISHED_STATES)
        if going.update(state=RunState.FAILED, error=printable(error), finished_at=now):
            log_event(run, error, worker=worker, is_warning=True, traceback=traceback, now=now)


def finish_if_complete(*, run: Run, job_kind: JobKind, worker: str, now: datetime) -> None:
    """Finish the run if no chunk is left. Any worker may do it, and several may try."""
    if _has_open_chunks(run):
        return
    job_kind.finish(run)
    with transaction.atomic():
        locked = Run.objects.select_for_update(no_key=True).filter(pk=run.pk, state__in=UNFINISHED_STATES).first()
        # Failed images are queued again under the same lock.
        if locked is None or _has_open_chunks(run):
            return
        has_made_nothing = locked.failed == locked.total
        locked.state = RunState.FAILED if has_made_nothing else RunState.DONE
        locked.error = _("Nothing was made, because every image failed.") if has_made_nothing else ""
        locked.finished_at = now
        # The rest was stored by other runs in the meantime.
        locked.already = locked.total - locked.done - locked.failed
        locked.save(update_fields=["state", "error", "finished_at", "already"])
        counts = {"done": locked.done, "already": locked.already, "failed": locked.failed}
        summary = _("Done: %(done)s made, %(already)s already there, %(failed)s failed.") % counts
        message = locked.error or summary
        log_event(run, message, worker=worker, is_warning=locked.failed > 0, now=now)


def _has_open_chunks(run: Run) -> bool:
    return Chunk.objects.filter(run=run).exclude(state=JobState.DONE).exists()
