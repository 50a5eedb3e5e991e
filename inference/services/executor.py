"""Running a run: chunk after chunk, what is computed stored batch by batch, so that little is lost with a worker.

What is made is of a kind of `job_kind.Work`; what happens to an image or a run is the same for all kinds. Pictures are
read ahead in threads, the model computes in one beside this one, and this one alone asks the database.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import datetime
from traceback import format_exception
from typing import Any

from django.conf import settings
from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction
from django.db.models import Case, F, Value, When
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crosslens_metrics.formats.records import printable
from inference.backends.captioners import Failed
from inference.models import GOING, Run, RunFailure, RunState
from inference.services import chunks, progress
from inference.services.chunks import LeaseLostError
from inference.services.device import Device
from inference.services.job_kind import WHOLE, Made, PendingImage, Work
from inference.services.model_batches import OF_THE_WHOLE_RUN, Broke, Computed, compute
from inference.services.prefetcher import THREADS, Feed, Group, Held
from inference.services.worker_status import meter

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]

SLICE_S = 300.0
"""Of work, after which other tasks get their turn. Shorter than a broker's patience with a message (environment.py)."""

KEEP_EVERY_S = 0.5
"""Batches that take less are stored together."""

BROKEN_LIMIT = 8
"""So many images in a row with which the model failed, and it is not they who are to blame, unless it still takes one
with which it did not fail before."""

TRIES = 3
RETRY_AFTER_S = 0.2


class RunFailedError(Exception):
    """The run as a whole cannot go on; the message says why, the traceback where."""

    def __init__(self, message: str, traceback: str) -> None:
        super().__init__(message)
        self.traceback = traceback


@dataclass(frozen=True)
class _Flying:
    """A batch that the device is at, or comes to next."""

    group: Group
    part: str
    computed: Future[Computed]


def work_on(
    *, run_id: int, work_of: Callable[[Run], Work], worker: str, clock: Clock, slice_s: float = SLICE_S
) -> bool:
    """Do what is to be done of a run, for `slice_s` at most; returns whether there is more for this worker."""
    about = ("model__english_model", "model__translator", "encoder", "collection", "created_by")
    run = Run.objects.select_related(*about).filter(pk=run_id, state__in=GOING).first()
    if run is None:
        return False
    language = run.created_by.interface_language if run.created_by else ""
    with translation.override(language or settings.LANGUAGE_CODE):
        meter.begin(run_id)
        try:
            return _Shift(run, work_of(run), worker, clock, slice_s).go()
        finally:
            meter.end()


def _readers() -> ThreadPoolExecutor:
    # Sentences that are made in them are in the language of the run's log.
    return ThreadPoolExecutor(THREADS, initializer=translation.activate, initargs=(translation.get_language(),))


class _Shift:
    """One worker's time on one run."""

    def __init__(self, run: Run, work: Work, worker: str, clock: Clock, slice_s: float) -> None:
        self.run, self.work, self.worker, self.clock = run, work, worker, clock
        self._slice_s = slice_s
        self._until = time.monotonic() + slice_s
        self._stored_at = time.monotonic()
        self._renewed_at = time.monotonic()
        self._is_stopped = False
        self._has_moved = False
        self._has_worked = run.done > 0
        self._broken: set[int] = set()
        self._flying: _Flying | None = None
        self._known: tuple[PendingImage, Any, str] | None = None

    def go(self) -> bool:
        try:
            if chunks.claimable(now=self.clock()).filter(run=self.run).exists():
                self._load()
                self._work_through()
                if self._is_over():
                    return not self._is_stopped
            progress.end_if_whole(run=self.run, work=self.work, worker=self.worker, now=self.clock())
        except (RunFailedError, *OF_THE_WHOLE_RUN) as reason:
            traceback = reason.traceback if isinstance(reason, RunFailedError) else ""
            progress.fail(run=self.run, error=str(reason), worker=self.worker, traceback=traceback, now=self.clock())
        return False

    def _load(self) -> None:
        began = time.monotonic()
        try:
            about = self.work.load()
        except (DatabaseError, *OF_THE_WHOLE_RUN):
            raise
        except Exception as error:
            log.exception("Run %s: the model was not loaded.", self.run.pk)
            said = _("The model cannot be loaded (%(error)s). The log below has the traceback.")
            # No image was looked at yet, so the message can stay.
            raise RunFailedError(said % {"error": type(error).__name__}, "".join(format_exception(error))) from error
        took_s = time.monotonic() - began
        # At least as much time for the work: runs that take turns on a worker would do nothing but load their models.
        self._until = time.monotonic() + max(self._slice_s, took_s)
        progress.loaded(
            run=self.run,
            about=about,
            took_s=took_s,
            batch_size=self.work.batch_size,
            worker=self.worker,
            now=self.clock(),
        )

    def _work_through(self) -> None:
        with _readers() as readers, Device() as self._device:
            self.feed = Feed(self.work, readers, self._claim)
            self.feed.size = self.run.batch_size
            try:
                for group in self.feed.groups():
                    self._compute(group)
                    if self._is_over():
                        break
                self._land()
                self._store_all()
            except (RunFailedError, *OF_THE_WHOLE_RUN):
                self._is_stopped = True
                self._drop_what_broke()
                self._store_all()
                raise
            finally:
                self._release_all()
                readers.shutdown(cancel_futures=True)

    def _is_over(self) -> bool:
        # However short the time, something is done in it: the next slice would begin where this one did.
        return self._is_stopped or (self._has_moved and time.monotonic() >= self._until)

    def _claim(self) -> Held | None:
        while not self._is_over():
            claimed = chunks.claim(run_id=self.run.pk, worker=self.worker, now=self.clock())
            if claimed is None:
                return None
            chunk, silent = claimed
            if silent and silent != self.worker:
                self._say(_("Took over from %(worker)s, which fell silent.") % {"worker": silent}, is_warning=True)
            try:
                items = self.work.missing(chunk)
            except Exception:
                chunks.release(chunk)
                raise
            starts = chunk.attempts - 1
            if items and starts >= chunks.SKIP_AFTER_ATTEMPTS:
                items[0] = replace(items[0], refused=_("The worker stopped each time it came to this image."))
            held = Held(chunk, deque(items), sum(len(item.parts) for item in items), is_careful=starts > 0)
            if items:
                return held
            self._store(held)
        return None

    def _compute(self, group: Group) -> None:
        """Send the parts of the group to the device, one after the other; each lands while the next is computed."""
        ready = self._ready(group)
        parts = {part for item, _prepared in ready for part in item.parts}
        failed: set[int] = set()
        for part in sorted(parts, key=lambda part: (part != self.work.first, part)):
            if self._flying and self._flying.part == self.work.first:
                failed = self._failed_first(self._flying)
            batch = [one for one in ready if part in one[0].parts and one[0].image_id not in failed]
            if self._is_over() or group.held.is_lost:
                return
            if not batch:
                continue
            items, prepared = [item for item, _prepared in batch], [prepared for _item, prepared in batch]
            before = self._flying
            computed = self._device.submit(compute, self.work, items, prepared, part, size=self.feed.size)
            self._flying, self._has_moved = _Flying(group, part, computed), True
            self._take(before)
        if group.held.is_careful:
            # Nothing else is in hand until it is known what becomes of this one.
            self._land()
            self._store_all()

    def _ready(self, group: Group) -> list[tuple[PendingImage, Any]]:
        """The items that the model can take, once they are prepared; the others have failed."""
        self._await(group.prepared)
        ready = []
        for item, future in zip(group.items, group.prepared, strict=True):
            prepared = future.result()
            if isinstance(prepared, Failed):
                self._note(group.held, [Made(item, part, prepared) for part in item.parts])
            else:
                ready.append((item, prepared))
        return ready

    def _failed_first(self, flying: _Flying) -> set[int]:
        """The images of which the first part, which is stored now, failed: nothing can follow from it."""
        self._land()
        self._store(flying.group.held)
        lost = [made for made in flying.computed.result().made if isinstance(made.result, Failed)]
        for made in lost:
            rest = [Made(made.item, part, made.result) for part in made.item.parts if part != self.work.first]
            self._note(flying.group.held, rest)
        return {made.item.image_id for made in lost}

    def _land(self) -> None:
        flying, self._flying = self._flying, None
        self._take(flying)

    def _take(self, flying: _Flying | None) -> None:
        """Wait for a batch, and store it while the device is at the next."""
        if flying is None:
            return
        self._await([flying.computed])
        computed = flying.computed.result()
        if computed.size < self.feed.size:
            self.feed.size = computed.size
            progress.halved(run=self.run, size=computed.size, worker=self.worker, now=self.clock())
        held = flying.group.held
        self._remember(flying.group, computed.made)
        self._note(held, computed.made)
        if time.monotonic() - self._stored_at >= KEEP_EVERY_S or held.is_careful:
            self._store_all()
        elif not held.left:
            self._store(held)
        self._renew()

    def _note(self, held: Held, made: Sequence[Made]) -> None:
        """
        Raises
        ------
        RunFailedError
        """
        for one in made:
            if isinstance(one.result, Broke):
                self._broken.add(one.item.image_id)
                if len(self._broken) >= BROKEN_LIMIT and not self._still_works():
                    raise self._all_broke(one.result)
            elif not isinstance(one.result, Failed):
                self._broken.clear()
                self._has_worked = True
        held.unstored += made
        held.left -= len(made)

    def _remember(self, group: Group, made: Sequence[Made]) -> None:
        good = next((one for one in made if not isinstance(one.result, Failed)), None)
        if good is not None:
            prepared = group.prepared[group.items.index(good.item)].result()
            self._known = good.item, prepared, good.part

    def _still_works(self) -> bool:
        """Whether the model takes what it took before, so that it was the images' fault after all."""
        if self._known is None:
            return False
        item, prepared, part = self._known
        again = self._device.submit(compute, self.work, [item], [prepared], part, size=1)
        self._await([again])
        if isinstance(again.result().made[0].result, Failed):
            return False
        self._broken.clear()
        return True

    def _all_broke(self, last: Broke) -> RunFailedError:
        said = _("The model failed with each image it was given. %(reason)s The log below has the traceback.")
        return RunFailedError(said % {"reason": last.reason}, last.where)

    def _await(self, futures: Iterable[Future[Any]]) -> None:
        """Until they are done; leases are renewed meanwhile, and what lies about is stored."""
        rest = set(futures)
        while rest := wait(rest, timeout=KEEP_EVERY_S).not_done:
            self._store_all()
            self._renew()

    def _renew(self) -> None:
        """Of all chunks at hand, also of one that waits for its turn while many small batches of another are stored."""
        if time.monotonic() - self._renewed_at < chunks.RENEW_EVERY_S:
            return
        self._renewed_at = time.monotonic()
        for held in list(self.feed.held):
            try:
                chunks.extend(held.chunk, now=self.clock())
            except LeaseLostError:
                self._lose(held)
        self._look()

    def _look(self) -> None:
        """Whether somebody paused or cancelled it."""
        self._is_stopped = self._is_stopped or not Run.objects.filter(pk=self.run.pk, state__in=GOING).exists()

    def _lose(self, held: Held) -> None:
        log.info("Chunk %s went on elsewhere.", held.chunk.pk)
        held.is_lost = True
        self._let_go(held)

    def _let_go(self, held: Held) -> None:
        # One of which nothing was to be made never came among those that are fed from.
        if held in self.feed.held:
            self.feed.held.remove(held)

    def _store_all(self) -> None:
        for held in list(self.feed.held):
            if held.unstored or not held.left:
                self._store(held)

    def _store(self, held: Held) -> None:
        """Keep what was made of a chunk, and close it where it is whole."""
        if held.is_lost:
            return
        is_whole = not held.left
        made = held.unstored if is_whole else self._to_store(held)
        if is_whole and not self._has_worked:
            broke = [one.result for one in made if isinstance(one.result, Broke)]
            if broke:
                raise self._all_broke(broke[-1])
        self._stored_at = time.monotonic()
        if not made and not is_whole:
            self._look()
            return
        try:
            self._is_stopped = not self._store_surely(held, made, is_whole=is_whole) or self._is_stopped
        except LeaseLostError:
            self._lose(held)
            return
        stored = {id(one) for one in made}
        held.unstored = [one for one in held.unstored if id(one) not in stored]
        held.reasons.update(one.result.reason for one in made if isinstance(one.result, Failed))
        held.where = held.where or next((one.result.where for one in made if isinstance(one.result, Broke)), "")
        if is_whole:
            self._has_moved = True
            self._tell_failures(held)
            self._let_go(held)

    def _to_store(self, held: Held) -> list[Made]:
        # At the end of a slice what there is, or a chunk that takes longer than that would be begun again for ever.
        if self.work.is_kept_whole and not held.is_careful and not self._is_over():
            return [one for one in held.unstored if one.item.refused]
        # Who broke in a row waits until it is known whether it was the images' fault.
        return [one for one in held.unstored if not (isinstance(one.result, Broke) and self._broken)]

    def _store_surely(self, held: Held, made: Sequence[Made], *, is_whole: bool) -> bool:
        before = held.chunk.lease_until, held.chunk.attempts
        for tries_left in reversed(range(TRIES)):
            try:
                return self._store_once(held, made, is_whole=is_whole)
            except (IntegrityError, OperationalError):
                # Another run was at the same captions, or the database was away for a moment.
                held.chunk.lease_until, held.chunk.attempts = before
                if not tries_left:
                    raise
                connection.close_if_unusable_or_obsolete()
                time.sleep(RETRY_AFTER_S)
        raise AssertionError("not reached")

    def _store_once(self, held: Held, made: Sequence[Made], *, is_whole: bool) -> bool:
        """Returns whether the run is to go on."""
        now = self.clock()
        good = [one for one in made if not isinstance(one.result, Failed)]
        bad = [one for one in made if isinstance(one.result, Failed) and one.part != self.work.first]
        counted = sum(one.part != self.work.first for one in good)
        with transaction.atomic():
            chunks.stored(held.chunk, now=now, is_whole=is_whole)
            done = self.work.keep(held.chunk, good, now=now) if good or is_whole else 0
            RunFailure.objects.bulk_create(
                RunFailure(
                    run=self.run,
                    image_id=one.item.image_id,
                    language_id=None if one.part == WHOLE else one.part,
                    reason=printable(one.result.reason),
                    at=now,
                )
                for one in bad
            )
            found = Run.objects.filter(pk=self.run.pk)
            found.update(
                done=F("done") + done,
                failed=F("failed") + len(bad),
                already=F("already") + counted - done,
                state=Case(When(state=RunState.QUEUED, then=Value(RunState.RUNNING)), default=F("state")),
            )
            is_going = found.filter(state__in=GOING).exists()
        meter.note(made=done)
        return is_going

    def _tell_failures(self, held: Held) -> None:
        if not held.reasons:
            return
        count = held.reasons.total()
        said = ngettext("%(count)s failed: %(reasons)s", "%(count)s failed: %(reasons)s", count)
        reasons = "; ".join(f"{reason} ({number})" for reason, number in held.reasons.most_common(3))
        self._say(said % {"count": count, "reasons": reasons}, is_warning=True, traceback=held.where)

    def _drop_what_broke(self) -> None:
        for held in self.feed.held:
            kept = [one for one in held.unstored if not isinstance(one.result, Broke)]
            held.left += len(held.unstored) - len(kept)
            held.unstored = kept

    def _release_all(self) -> None:
        for held in self.feed.held:
            try:
                chunks.release(held.chunk)
            except DatabaseError:
                # Its lease runs out by itself.
                log.exception("Chunk %s could not be given back.", held.chunk.pk)

    def _say(self, message: str, *, is_warning: bool = False, traceback: str = "") -> None:
        progress.say(
            run=self.run,
            message=message,
            worker=self.worker,
            is_warning=is_warning,
            traceback=traceback,
            now=self.clock(),
        )
