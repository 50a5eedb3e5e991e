"""Execute a run chunk by chunk. Results are stored batch by batch, so that little is lost if the worker dies.

Images are read ahead in threads and the model computes in another one; only this thread uses the database. All that
depends on what is made is in the run's job kind.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from traceback import format_exception
from typing import Any

from django.db import DatabaseError
from django.utils import translation
from django.utils.translation import gettext as _

from core.jobs.services import leases
from core.jobs.services.leases import LeaseLostError
from research.inference.backends.captioners import FailedImage
from research.inference.models import UNFINISHED_STATES, Run
from research.inference.services import chunks, outcome_store
from research.inference.services.captioning import captioning_kind
from research.inference.services.crash_blame import CrashBlame, RunFailedError
from research.inference.services.embedding import embedding_kind
from research.inference.services.job_kind import (
    RUN_ERRORS,
    BatchResult,
    CrashedImage,
    JobKind,
    PartOutcome,
    PendingImage,
    compute_batch,
)
from research.inference.services.model_cache import DeviceThread
from research.inference.services.outcome_store import OutcomeStore
from research.inference.services.prefetcher import THREADS, ClaimedChunk, ImageBatch, Prefetcher
from research.inference.services.steering import log_event
from research.inference.services.worker_status import meter

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]

SLICE_S = 300.0
"""Of work, after which other tasks get their turn: less than a broker waits for a message (environment.py)."""

STORE_EVERY_S = 0.5
"""Batches that take less time are stored together."""


@dataclass(frozen=True)
class _InFlight:
    """A part of a batch that is on the device, or queued for it."""

    batch: ImageBatch
    part: str
    result: Future[BatchResult]


def execute_run(*, run_id: int, worker: str, clock: Clock, slice_s: float = SLICE_S) -> bool:
    """Work on a run for at most `slice_s`; returns whether this worker has more to do for it."""
    related = ("model__english_model", "model__translator", "encoder", "collection", "created_by")
    run = Run.objects.select_related(*related).filter(pk=run_id, state__in=UNFINISHED_STATES).first()
    if run is None:
        return False
    with leases.working_for(run.created_by):
        meter.begin(run_id)
        try:
            return Executor(run, job_kind_of(run), worker, clock, slice_s).execute()
        finally:
            meter.end()
    return False


def job_kind_of(run: Run) -> JobKind:
    if run.encoder is not None:
        return embedding_kind(run, run.encoder)
    assert run.model is not None
    return captioning_kind(run, run.model)


def _reader_threads() -> ThreadPoolExecutor:
    # Messages made in them are in the language of the run's log.
    return ThreadPoolExecutor(THREADS, initializer=translation.activate, initargs=(translation.get_language(),))


class Executor:
    """One worker's slice of time on one run."""

    def __init__(self, run: Run, job_kind: JobKind, worker: str, clock: Clock, slice_s: float) -> None:
        self.run, self.job_kind, self.worker, self.clock = run, job_kind, worker, clock
        self.outcomes = OutcomeStore(run, job_kind, worker, clock)
        self._slice_s = slice_s
        self._ends_at = time.monotonic() + slice_s
        self._stored_at = time.monotonic()
        self._renewed_at = time.monotonic()
        self._is_stopped = False
        self._has_progressed = False
        self._in_flight: _InFlight | None = None
        self._blame = CrashBlame(run, job_kind, takes=self._takes, prepare=self._prepare, untried=self._untried)

    def execute(self) -> bool:
        try:
            if chunks.claimable_chunks(now=self.clock()).filter(run=self.run).exists():
                self._load()
                self._execute_chunks()
                if self._is_over():
                    return not self._is_stopped
            outcome_store.finish_if_complete(run=self.run, job_kind=self.job_kind, worker=self.worker, now=self.clock())
        except (RunFailedError, *RUN_ERRORS) as error:
            traceback = error.traceback if isinstance(error, RunFailedError) else ""
            outcome_store.fail_run(
                run=self.run, error=str(error), worker=self.worker, traceback=traceback, now=self.clock()
            )
        return False

    def _load(self) -> None:
        began = time.monotonic()
        try:
            description = self.job_kind.load()
        except (DatabaseError, *RUN_ERRORS):
            raise
        except Exception as error:
            log.exception("Run %s: the model was not loaded.", self.run.pk)
            message = _("The model cannot be loaded (%(error)s). The log below has the traceback.")
            # No image was read yet, so the traceback can keep its message.
            raise RunFailedError(message % {"error": type(error).__name__}, "".join(format_exception(error))) from error
        took_s = time.monotonic() - began
        # Work for at least as long: runs that take turns on a worker would do nothing but load their models.
        self._ends_at = time.monotonic() + max(self._slice_s, took_s)
        outcome_store.model_loaded(
            run=self.run,
            description=description,
            took_s=took_s,
            batch_size=self.job_kind.batch_size,
            worker=self.worker,
            now=self.clock(),
        )

    def _execute_chunks(self) -> None:
        try:
            with _reader_threads() as readers, DeviceThread() as self._device:
                self._compute_batches(readers)
        finally:
            # The device has ended what it had begun. Uncounted, its tokens would be on the next run's bill.
            with suppress(*RUN_ERRORS):
                self.job_kind.count_usage()

    def _compute_batches(self, readers: ThreadPoolExecutor) -> None:
        self.prefetcher = Prefetcher(self.job_kind, readers, self._claim)
        self.prefetcher.batch_size = self.run.batch_size
        try:
            for batch in self.prefetcher.batches():
                self._compute(batch)
                if self._is_over():
                    break
            self._collect_last()
            self._store_all()
        except (RunFailedError, *RUN_ERRORS):
            self._is_stopped = True
            self._drop_crashed()
            self._store_all()
            raise
        finally:
            self._release_all()
            readers.shutdown(cancel_futures=True)

    def _is_over(self) -> bool:
        # However short the slice, something is done in it: the next one would begin where this one did.
        return self._is_stopped or (self._has_progressed and time.monotonic() >= self._ends_at)

    def _claim(self) -> ClaimedChunk | None:
        while not self._is_over():
            claim = chunks.claim(run_id=self.run.pk, worker=self.worker, now=self.clock())
            if claim is None:
                return None
            chunk, silent = claim
            if silent and silent != self.worker:
                message = _("Took over from %(worker)s, which stopped responding.") % {"worker": silent}
                log_event(self.run, message, worker=self.worker, is_warning=True, now=self.clock())
            try:
                images = self.job_kind.pending(chunk)
            except Exception:
                chunks.release(chunk)
                raise
            earlier_attempts = chunk.attempts - 1
            if images and earlier_attempts >= chunks.SKIP_AFTER_ATTEMPTS:
                images[0] = replace(images[0], refused=_("The worker crashed every time it reached this image."))
            parts_left = sum(len(image.parts) for image in images)
            claimed = ClaimedChunk(chunk, deque(images), parts_left, is_suspect=earlier_attempts > 0)
            if images:
                return claimed
            self._store(claimed)
        return None

    def _compute(self, batch: ImageBatch) -> None:
        """Send the parts of a batch to the device one by one; each is stored while the next is computed."""
        ready = self._ready(batch)
        parts = {part for image, _prepared in ready for part in image.parts}
        failed_ids: set[int] = set()
        for part in sorted(parts, key=lambda part: (part != self.job_kind.first_part, part)):
            if self._in_flight and self._in_flight.part == self.job_kind.first_part:
                failed_ids = self._store_first_part(self._in_flight)
            wanted = [
                (image, prepared)
                for image, prepared in ready
                if part in image.parts and image.image_id not in failed_ids
            ]
            if self._is_over() or batch.claimed.is_lost:
                return
            if not wanted:
                continue
            images, inputs = [image for image, _prepared in wanted], [prepared for _image, prepared in wanted]
            before = self._in_flight
            size = self.prefetcher.batch_size
            result = self._device.submit(compute_batch, self.job_kind, images, inputs, part, size=size)
            self._in_flight, self._has_progressed = _InFlight(batch, part, result), True
            self._collect(before)
        if batch.claimed.is_suspect:
            # Nothing else is started until the outcome of this one is stored.
            self._collect_last()
            self._store_all()

    def _ready(self, batch: ImageBatch) -> list[tuple[PendingImage, Any]]:
        """Wait for the prepared images, and record those whose preparation failed."""
        self._await(batch.prepared)
        ready = []
        for image, future in zip(batch.images, batch.prepared, strict=True):
            prepared = future.result()
            if isinstance(prepared, FailedImage):
                self._record(batch.claimed, [PartOutcome(image, part, prepared) for part in image.parts])
            else:
                ready.append((image, prepared))
        return ready

    def _store_first_part(self, in_flight: _InFlight) -> set[int]:
        """Store the first part, and fail the other parts of the images where it failed; returns these images."""
        claimed = in_flight.batch.claimed
        self._collect_last()
        self._store(claimed)
        failed = [outcome for outcome in in_flight.result.result().outcomes if isinstance(outcome.result, FailedImage)]
        for outcome in failed:
            other_parts = [part for part in outcome.image.parts if part != self.job_kind.first_part]
            self._record(claimed, [PartOutcome(outcome.image, part, outcome.result) for part in other_parts])
        return {outcome.image.image_id for outcome in failed}

    def _collect_last(self) -> None:
        in_flight, self._in_flight = self._in_flight, None
        self._collect(in_flight)

    def _collect(self, in_flight: _InFlight | None) -> None:
        """Wait for a batch, and store its outcomes while the device computes the next."""
        if in_flight is None:
            return
        self._await([in_flight.result])
        result = in_flight.result.result()
        if result.size < self.prefetcher.batch_size:
            self.prefetcher.batch_size = result.size
            outcome_store.batch_size_reduced(run=self.run, size=result.size, worker=self.worker, now=self.clock())
        claimed = in_flight.batch.claimed
        self._blame.remember_good(in_flight.batch, result.outcomes)
        self._record(claimed, result.outcomes)
        self.job_kind.count_usage()
        if time.monotonic() - self._stored_at >= STORE_EVERY_S or claimed.is_suspect:
            self._store_all()
        elif not claimed.parts_left:
            self._store(claimed)
        self._renew_leases()

    def _record(self, claimed: ClaimedChunk, outcomes: Sequence[PartOutcome]) -> None:
        """Raises RunFailedError."""
        self._blame.record(outcomes)
        claimed.unstored += outcomes
        claimed.parts_left -= len(outcomes)

    def _takes(self, image: PendingImage, prepared: Any, part: str) -> bool:
        asked = self._device.submit(compute_batch, self.job_kind, [image], [prepared], part, size=1)
        self._await([asked])
        return not isinstance(asked.result().outcomes[0].result, FailedImage)

    def _prepare(self, image: PendingImage) -> Any:
        return self.prefetcher.prepare(image)

    def _untried(self, most: int) -> list[PendingImage]:
        """List images that were not tried yet, of the last chunks first: a run may begin with broken ones."""
        queued = chunks.claimable_chunks(now=self.clock()).filter(run=self.run, attempts=0).order_by("-position")
        later = [self.job_kind.pending(chunk)[-1:] for chunk in queued[:most]]
        computing = self._in_flight.batch.images if self._in_flight else []
        return [image for last in later for image in last] + [*computing, *self.prefetcher.waiting()][::-1]

    def _await(self, futures: Iterable[Future[Any]]) -> None:
        """Wait for all of them; meanwhile renew leases and store outcomes."""
        rest = set(futures)
        while rest := wait(rest, timeout=STORE_EVERY_S).not_done:
            self._store_all()
            self._renew_leases()

    def _renew_leases(self) -> None:
        """Renew all leases, also of a chunk that waits while many small batches of another are stored."""
        if time.monotonic() - self._renewed_at < chunks.RENEW_EVERY_S:
            return
        self._renewed_at = time.monotonic()
        for claimed in list(self.prefetcher.chunks):
            try:
                chunks.extend(claimed.chunk, now=self.clock())
            except LeaseLostError:
                self._mark_lost(claimed)
        self._check_stopped()

    def _check_stopped(self) -> None:
        """Notice if somebody paused or cancelled the run."""
        if not Run.objects.filter(pk=self.run.pk, state__in=UNFINISHED_STATES).exists():
            self._is_stopped = True

    def _mark_lost(self, claimed: ClaimedChunk) -> None:
        log.info("Chunk %s was continued by another worker.", claimed.chunk.pk)
        claimed.is_lost = True
        self._drop(claimed)

    def _drop(self, claimed: ClaimedChunk) -> None:
        # A chunk with nothing left to make never reached the prefetcher.
        if claimed in self.prefetcher.chunks:
            self.prefetcher.chunks.remove(claimed)

    def _store_all(self) -> None:
        for claimed in list(self.prefetcher.chunks):
            if claimed.unstored or not claimed.parts_left:
                self._store(claimed)

    def _store(self, claimed: ClaimedChunk) -> None:
        """Store the outcomes of a chunk, and close it if it is complete."""
        if claimed.is_lost:
            return
        is_complete = not claimed.parts_left
        outcomes = claimed.unstored if is_complete else self._storable(claimed)
        if is_complete and not self._blame.has_succeeded:
            crashes = [outcome.result for outcome in outcomes if isinstance(outcome.result, CrashedImage)]
            if crashes and self._blame.is_asking:
                # Meanwhile the model is asked whether it is to blame.
                return
            if crashes:
                self._blame.refuse_model_that_fails(crashes[-1])
        self._stored_at = time.monotonic()
        if not outcomes and not is_complete:
            self._check_stopped()
            return
        try:
            is_going = self.outcomes.store(claimed, outcomes, is_complete=is_complete)
        except LeaseLostError:
            self._mark_lost(claimed)
            return
        self._is_stopped = self._is_stopped or not is_going
        stored = {id(outcome) for outcome in outcomes}
        claimed.unstored = [outcome for outcome in claimed.unstored if id(outcome) not in stored]
        failures = [outcome.result for outcome in outcomes if isinstance(outcome.result, FailedImage)]
        claimed.reasons.update(failure.reason for failure in failures)
        tracebacks = (failure.traceback for failure in failures if isinstance(failure, CrashedImage))
        claimed.traceback = claimed.traceback or next(tracebacks, "")
        if is_complete:
            self._has_progressed = True
            self.outcomes.log_failures(claimed)
            self._drop(claimed)

    def _storable(self, claimed: ClaimedChunk) -> list[PartOutcome]:
        # At the end of a slice everything is stored: a chunk that takes longer would start over for ever.
        if self.job_kind.stores_whole_chunks and not claimed.is_suspect and not self._is_over():
            return [outcome for outcome in claimed.unstored if outcome.image.refused]
        # Crashes in a row wait until it is known whether the images are to blame.
        return [
            outcome
            for outcome in claimed.unstored
            if not (isinstance(outcome.result, CrashedImage) and self._blame.crashed_ids)
        ]

    def _drop_crashed(self) -> None:
        for claimed in self.prefetcher.chunks:
            others = [outcome for outcome in claimed.unstored if not isinstance(outcome.result, CrashedImage)]
            claimed.parts_left += len(claimed.unstored) - len(others)
            claimed.unstored = others

    def _release_all(self) -> None:
        for claimed in self.prefetcher.chunks:
            try:
                chunks.release(claimed.chunk)
            except DatabaseError:
                # Its lease expires by itself.
                log.exception("Chunk %s could not be released.", claimed.chunk.pk)
