"""Do the jobs of building a corpus: plan a step, run its chunks on any workers, finish it, and go on to the next.

A job is done under a lease, which a thread renews. Whoever lost it writes nothing more.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.db.models import Count, Q, QuerySet
from django.utils import translation
from django.utils.translation import gettext as _

from corpora.formats.corpus_inputs import input_of
from corpora.models import CorpusBuild, CorpusJob, CorpusStep, JobKind, StepState
from corpora.selectors.corpus_configs import config_of, fingerprints_of
from corpora.selectors.corpus_folders import GuardedFolder, folder_of, forget_partial, new_scratch
from crosslens_metrics.formats.records import printable
from images.models import OPEN_STATES, JobState
from images.services import leases
from images.services.leases import LeaseLostError
from parallel_text.building import Done, begin, done, end, is_done, step_named
from parallel_text.problems import CorpusError
from parallel_text.steps import Step, Work

Clock = Callable[[], datetime]

RENEW_EVERY_S = 15.0
MAX_ATTEMPTS = 3
"""After so many starts in which its worker died, a job fails."""

MOST_WANTED = 64
"""Workers that are asked at once; each that has done a job asks the next."""

AT_ONCE = 1000

log = logging.getLogger(__name__)


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def claimable(*, now: datetime) -> QuerySet[CorpusJob]:
    """Jobs of running steps that no worker holds."""
    free = Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING, lease_until__lte=now)
    return CorpusJob.objects.filter(free, step__state=StepState.RUNNING)


def builds_waiting(*, now: datetime) -> list[tuple[int, int]]:
    """List the builds that could use more workers, each with how many."""
    counted = claimable(now=now).values_list("step__build").annotate(free=Count("pk")).order_by("step__build")
    return [(build_id, min(free, MOST_WANTED)) for build_id, free in counted]


def workers_wanted(*, build_id: int, now: datetime) -> int:
    return min(claimable(now=now).filter(step__build=build_id).count(), MOST_WANTED)


def work_on(*, build_id: int, worker: str, clock: Clock) -> JobKind | None:
    """Do one job of a build; returns its kind, or None if there was none to do."""
    job = claim(build_id=build_id, worker=worker, now=clock())
    if job is None:
        return None
    author = job.step.build.created_by
    with translation.override((author.interface_language if author else "") or settings.LANGUAGE_CODE):
        run_job(job, clock=clock)
    return JobKind(job.kind)


def claim(*, build_id: int, worker: str, now: datetime) -> CorpusJob | None:
    """Claim the next free job of a build."""
    with transaction.atomic():
        # Rows that others are claiming at this moment are skipped, so that nobody waits.
        free = claimable(now=now).filter(step__build=build_id).order_by("pk")
        job = free.select_for_update(skip_locked=True, no_key=True, of=("self",)).first()
        if job is None:
            return None
        job.state, job.lease_until, job.holder = JobState.RUNNING, leases.next_end(job, now), worker
        job.attempts, job.started_at = job.attempts + 1, now
        job.save(update_fields=["state", "lease_until", "holder", "attempts", "started_at"])
    return CorpusJob.objects.select_related("step__build__created_by", "step__build__project").get(pk=job.pk)


def release(job: CorpusJob) -> None:
    """Let another worker have a job that was claimed; this does not count as a start in which the worker died."""
    attempts = max(job.attempts - 1, 0)
    leases.held(job).update(state=JobState.QUEUED, lease_until=None, holder="", attempts=attempts)


def run_job(job: CorpusJob, *, clock: Clock) -> None:
    """Do a job that was claimed. An error ends its step, which can be run again."""
    if job.attempts > MAX_ATTEMPTS:
        stopped = _("It stopped %(count)s times, perhaps for want of memory. Run the step again.")
        _fail(job, stopped % {"count": MAX_ATTEMPTS}, now=clock())
        return
    lease = Lease(job, clock=clock)
    try:
        with lease.renewing(), _workplace() as place:
            _run(job, lease, place, clock=clock)
    except LeaseLostError:
        log.info("Job %s of a corpus went to another worker.", job.pk)
    except CorpusError as error:
        _fail(job, str(error), now=clock())
    except (InterfaceError, OperationalError):
        raise
    except Exception as error:
        log.exception("Job %s of a corpus stopped.", job.pk)
        reason = _("An error stopped it (%(error)s). For details, see the server log.")
        _fail(job, reason % {"error": type(error).__name__}, now=clock())


class Lease:
    """The lease of a job that this process does."""

    def __init__(self, job: CorpusJob, *, clock: Clock) -> None:
        self._job, self._clock = job, clock
        self._turn = threading.Lock()
        self._ended = threading.Event()

    def renew(self) -> None:
        """
        Raises
        ------
        LeaseLostError
        """
        with self._turn:
            self._job.lease_until = leases.renewed(self._job, now=self._clock())

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Renew the lease from a thread for as long as the block runs."""
        thread = threading.Thread(target=self._renew_often, name="corpus-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _renew_often(self) -> None:
        try:
            while not self._ended.wait(RENEW_EVERY_S):
                try:
                    self.renew()
                except LeaseLostError:
                    return
                except DatabaseError:
                    # The database is away: the next renewal may get through.
                    connection.close()
        finally:
            connection.close()


def _run(job: CorpusJob, lease: Lease, place: Path, *, clock: Clock) -> None:
    build, step = job.step.build, step_named(job.step.name)
    config = config_of(build)
    if job.kind == JobKind.FINISH:
        # Nobody else works on this build then.
        config = replace(config, workers=os.cpu_count() or 1)
    work = Work(config, GuardedFolder(folder_of(build, place), lease.renew), place, input_of(build, place))
    prints = fingerprints_of(build, config, last=step.name)
    if job.kind == JobKind.PLAN:
        _plan(job, step, work, prints, lease, clock=clock)
        return
    if prints[step.name] != job.step.fingerprint:
        raise CorpusError(_("The files or settings of the corpus were changed meanwhile. Build it again."))
    if job.kind == JobKind.CHUNK:
        step.run_chunk(work, job.name)
        _close_chunk(job, lease, now=clock())
    else:
        _finish(job, step, work, lease, clock=clock)


def _plan(job: CorpusJob, step: Step, work: Work, prints: dict[str, str], lease: Lease, *, clock: Clock) -> None:
    """Make room for a step's files and list its chunks, or note that it is up to date."""
    row, fingerprint = job.step, prints[step.name]
    for need in step.needs:
        if not is_done(work.folder, need, prints[need]):
            raise CorpusError(_("%(need)s is not up to date. Build from there.") % {"need": need})
    if not row.again and is_done(work.folder, step.name, fingerprint):
        record = done(work.folder, step.name)
        assert record is not None
        _close_step(job, record, lease, now=clock())
        return
    if row.again:
        work.folder.remove(f"steps/{step.name}.begun")
    forget_partial(row.build)
    begin(work.folder, step.name, fingerprint)
    chunks = step.chunks(work)
    written = {chunk for chunk in chunks if step.is_written(work, chunk)}
    with transaction.atomic():
        _lock(row.build_id)
        lease.renew()
        CorpusStep.objects.filter(pk=row.pk).update(fingerprint=fingerprint, again=False, report={})
        states = [JobState.DONE if chunk in written else JobState.QUEUED for chunk in chunks]
        parts = [
            CorpusJob(step=row, kind=JobKind.CHUNK, position=position, name=chunk, state=state)
            for position, (chunk, state) in enumerate(zip(chunks, states, strict=True))
        ]
        CorpusJob.objects.bulk_create(parts, batch_size=AT_ONCE)
        _close(job, now=clock())
        _finish_if_last(row)


def _close_chunk(job: CorpusJob, lease: Lease, *, now: datetime) -> None:
    with transaction.atomic():
        # Two who do the last two chunks take turns, so that one of them sees that none is left.
        _lock(job.step.build_id)
        lease.renew()
        _close(job, now=now)
        _finish_if_last(job.step)


def _finish(job: CorpusJob, step: Step, work: Work, lease: Lease, *, clock: Clock) -> None:
    row = job.step
    record = done(work.folder, step.name)
    if record is None or record.fingerprint != row.fingerprint:
        if lost := [chunk for chunk in step.chunks(work) if not step.is_written(work, chunk)]:
            _run_again(job, lost, lease)
            return
        report = step.finish(work)
        seconds = (clock() - (row.started_at or clock())).total_seconds()
        hashes = dict(row.build.files.values_list("name", "sha256"))
        record = end(work, step, row.fingerprint, report, files=hashes, seconds=seconds)
    _close_step(job, record, lease, now=clock())


def _run_again(job: CorpusJob, chunks: list[str], lease: Lease) -> None:
    """Queue chunks whose files are gone: a worker that was killed at the end of `finish` had deleted them."""
    with transaction.atomic():
        _lock(job.step.build_id)
        lease.renew()
        parts = CorpusJob.objects.filter(step=job.step, kind=JobKind.CHUNK)
        for start in range(0, len(chunks), AT_ONCE):
            of_these = parts.filter(name__in=chunks[start : start + AT_ONCE])
            of_these.update(state=JobState.QUEUED, lease_until=None, attempts=0)
        job.delete()


def _close_step(job: CorpusJob, record: Done, lease: Lease, *, now: datetime) -> None:
    with transaction.atomic():
        build = _lock(job.step.build_id)
        lease.renew()
        _close(job, now=now)
        CorpusStep.objects.filter(pk=job.step_id).update(
            state=StepState.DONE,
            again=False,
            fingerprint=record.fingerprint,
            report=record.as_json(),
            error="",
            finished_at=now,
        )
        advance(build, now=now)


def advance(build: CorpusBuild, *, now: datetime) -> None:
    """Begin the next step that waits, unless one is running. Call it with the build locked."""
    steps = CorpusStep.objects.filter(build=build)
    row = steps.filter(state=StepState.WAITING).order_by("position").first()
    if row is None or steps.filter(state=StepState.RUNNING).exists():
        return
    row.jobs.all().delete()
    CorpusStep.objects.filter(pk=row.pk).update(
        state=StepState.RUNNING, error="", started_at=now, finished_at=None, report={}, fingerprint=""
    )
    CorpusJob.objects.create(step=row, kind=JobKind.PLAN)


def _lock(build_id: int) -> CorpusBuild:
    build = CorpusBuild.objects.select_for_update(no_key=True).filter(pk=build_id).first()
    if build is None:
        raise LeaseLostError(build_id)
    return build


def _close(job: CorpusJob, *, now: datetime) -> None:
    values = {"state": JobState.DONE, "lease_until": None, "finished_at": now, "error": ""}
    CorpusJob.objects.filter(pk=job.pk).update(**values)


def _finish_if_last(row: CorpusStep) -> None:
    if not row.jobs.filter(state__in=[*OPEN_STATES, JobState.FAILED]).exists():
        CorpusJob.objects.create(step=row, kind=JobKind.FINISH)


def _fail(job: CorpusJob, error: str, *, now: datetime) -> None:
    """End the step, and do not go on to those after it."""
    with transaction.atomic():
        build = CorpusBuild.objects.select_for_update(no_key=True).filter(pk=job.step.build_id).first()
        values = {"state": JobState.FAILED, "lease_until": None, "finished_at": now, "error": printable(error)}
        if build is None or not leases.held(job).update(**values):
            return
        steps = CorpusStep.objects.filter(build=build)
        failed = {"state": StepState.FAILED, "error": printable(error), "finished_at": now}
        steps.filter(pk=job.step_id).exclude(state=StepState.FAILED).update(**failed)
        steps.filter(state=StepState.WAITING).update(state=StepState.IDLE, again=False)


@contextmanager
def _workplace() -> Iterator[Path]:
    place = new_scratch()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
