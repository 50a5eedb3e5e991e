"""Run import jobs of any kind: claim, progress, the outcome of each file or line, and the limit of time without any."""

from __future__ import annotations

import errno
import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.images.models import Collection, Image, ImportJob, ImportKind, ImportOutcome, ImportRow, ImportStage
from core.images.services import file_storage
from core.jobs.models import OPEN_STATES, JobState
from core.jobs.services import leases
from core.jobs.services.insertions import insert_rows
from core.jobs.services.leases import LEASE, LeaseLostError
from core.people.models import Project
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.records import printable

MAX_SILENT_S = LEASE.total_seconds() - 10
"""Shorter than a lease: otherwise another worker would begin with the same file while this one still reads it."""

AGAIN_S = 0.1
DATABASE = ("django.db.", "psycopg", "sqlite3")
"""Modules that are not interrupted: a transaction or a connection would be left half changed."""


class ReadingTimeError(BaseException):
    """Reading took too long. It is no `Exception`: no reader may take it for a fault of one line and read on."""


@contextmanager
def limited_time() -> Iterator[None]:
    """Interrupt the block as soon as `MAX_SILENT_S` have passed since it began, or since the last `restart_time`.

    Python interrupts only the main thread, in which workers and commands import. Elsewhere there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        restart_time()
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def restart_time() -> None:
    """Begin to count anew, because there was a result."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGALRM) is _interrupt:
        signal.setitimer(signal.ITIMER_REAL, MAX_SILENT_S, MAX_SILENT_S)


def _interrupt(_signal: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(DATABASE):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S, MAX_SILENT_S)
            return
        frame = frame.f_back
    raise ReadingTimeError


Clock = Callable[[], datetime]
T = TypeVar("T")

SKIP_AFTER_ATTEMPTS = 3
"""After so many starts in which the worker died, the next file is taken to be the cause."""

MAX_ATTEMPTS = 6

TRIES = 3
"""Attempts at one transaction while another import stores the same."""

MAX_ERRORS = 2
"""After so many starts without progress an error ends the job; a temporary one, only after `MAX_ATTEMPTS`."""

DATABASE_IS_GONE = (InterfaceError, OperationalError)

LASTING = {errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR, errno.EISDIR}
"""Errors of the system that a name causes, which stays the same."""

NAME_CHARACTERS = 500

PREVIEW_KEPT = timedelta(days=7)

IS_INLINE = "is_inline"
"""Option of a job that a command runs itself, because workers may not have its files."""

INTERRUPTED = "The command was interrupted. Run it again: what is in stays in, and is not taken twice."


log = logging.getLogger(__name__)


def report_row(
    job: ImportJob,
    number: int,
    name: str,
    outcome: ImportOutcome,
    reason: str = "",
    image: Image | None = None,
    filled_in: Iterable[str] = (),
    *,
    counts: Mapping[ImportOutcome, int] | None = None,
    had_hidden: int = 0,
) -> ImportRow:
    """`counts` is how many captions of a line have which outcome; otherwise there is one, of this `outcome`.

    `had_hidden` is how many of them had hidden characters, which were removed: the reason says so.
    """
    if had_hidden:
        removed = ngettext(
            "Invisible characters were removed from %(number)d caption.",
            "Invisible characters were removed from %(number)d captions.",
            had_hidden,
        )
        reason = f"{reason} {removed % {'number': had_hidden}}".strip()
    # A file name need not be UTF-8, but what is stored of it must be.
    name, reason = printable(name[:NAME_CHARACTERS]), printable(reason)
    about: dict[str, Any] = {
        "outcome": outcome.value,
        "reason": reason,
        "image": image,
        "filled_in": " ".join(filled_in),
    }
    about["had_hidden"] = had_hidden
    about |= {str(of): count for of, count in (counts or {outcome: 1}).items()}
    return ImportRow(job=job, number=number, name=name, **about)


COLUMNS = [field.attname for field in ImportRow._meta.concrete_fields if not field.primary_key]
of_row = attrgetter(*COLUMNS)


def name_of(path: str) -> str:
    """Return what a report calls a file or folder."""
    return printable(path)[-NAME_CHARACTERS:]


def start_inline(
    path: Path,
    *,
    kind: ImportKind,
    collection: Collection | None,
    project: Project | None = None,
    options: Mapping[str, Any] | None = None,
    part_of: ImportJob | None = None,
    clock: Clock,
) -> ImportJob:
    """Create a job that starts at once, for a local file or folder; or continue it, where it is a part of another."""
    name = name_of(str(path))
    if part_of is not None and (begun := part_of.parts.filter(kind=kind, source_name=name)).exists():
        job = leases.claim(begun, now=clock())
        if job is None:
            raise LeaseLostError(part_of.pk)
        job.part_of = part_of
        return job
    is_inline = part_of is None or part_of.options.get(IS_INLINE, False)
    return ImportJob.objects.create(
        kind=kind,
        collection=collection,
        project=project,
        part_of=part_of,
        options={**(options or {}), IS_INLINE: is_inline},
        source_name=name,
        state=JobState.RUNNING,
        lease_until=clock() + leases.LEASE,
        attempts=1,
        created_by=part_of.created_by if part_of else None,
    )


def claim(*, job_id: int, kind: ImportKind, now: datetime) -> ImportJob | None:
    return leases.claim(ImportJob.objects.filter(pk=job_id, kind=kind), now=now)


def run(*, job_id: int, kind: ImportKind, clock: Clock, work: Callable[[ImportJob], None]) -> None:
    """Do the `work` of an upload's job, or continue it where a worker that died left it; close that of a dead command.

    The report is in the language of who sent the upload.
    """
    job = claim(job_id=job_id, kind=kind, now=clock())
    if job is None:
        return
    with leases.working_for(job.created_by):
        if job.options.get(IS_INLINE):
            finish(job, now=clock(), error=INTERRUPTED)
            return
        if job.attempts > MAX_ATTEMPTS:
            finish(job, now=clock(), error=_("The import stopped %(count)s times.") % {"count": MAX_ATTEMPTS})
            return
        work(job)


@contextmanager
def to_the_end(job: ImportJob, *, clock: Clock) -> Iterator[int]:
    """Close the job at the end, also if its file is refused, takes too long or an unexpected error occurs.

    Yields the number of the last line that was imported. Lines are imported in order, each in one transaction with
    its row of the report, so all up to that number are done.
    """
    try:
        with limited_time():
            yield job.rows.order_by("-number").values_list("number", flat=True).first() or 0
    except FileRefusedError as refused:
        finish(job, now=clock(), error=str(refused))
    except FileNotFoundError:
        finish(job, now=clock(), error=_("The file is no longer there. Upload it again."))
    except LeaseLostError:
        return
    except DATABASE_IS_GONE:
        raise
    except ReadingTimeError as error:
        reason = _(
            "Reading the file went on for more than %(limit)d seconds without a result. Split it into smaller files. "
            "What was imported is kept."
        )
        _end_or_let_go(job, error, reason % {"limit": MAX_SILENT_S}, now=clock())
    except Exception as error:
        # Such an error may be temporary: the lease has to expire before the sweep restarts the job.
        if may_pass(error) and not job.options.get(IS_INLINE):
            raise
        reason = _(
            "An error stopped the import (%(error)s). What was imported is kept. For details, see the server log."
        )
        _end_or_let_go(job, error, reason % {"error": type(error).__name__}, now=clock())
    else:
        total = job.rows.count()
        ImportJob.objects.filter(pk=job.pk, lease_until=job.lease_until).update(total=total)
        done = ImportJob.objects.filter(pk=job.pk).values_list("done", flat=True).first()
        finish(job, now=clock(), error="" if total or done else _("There is nothing in the file to import."))


def _end_or_let_go(job: ImportJob, error: BaseException, reason: str, *, now: datetime) -> None:
    """Close the job, or let the sweep restart it where the error is the first since there was progress."""
    log.error("Import %s stopped.", job.pk, exc_info=error)
    if job.options.get(IS_INLINE) or not leases.held_row(job).filter(attempts__lt=MAX_ERRORS).update(lease_until=now):
        finish(job, now=now, error=reason)


def may_pass(error: Exception) -> bool:
    """Return whether the same may succeed a while later."""
    if isinstance(error, OSError):
        return error.errno not in LASTING
    # Object storage has its own errors, and is not part of every installation.
    return type(error).__module__.partition(".")[0] in ("botocore", "urllib3")


def take_together(
    chunk: Sequence[T], take: Callable[[Sequence[T]], None], reject: Callable[[T, Exception], None]
) -> None:
    """Take all together or, if that fails, one by one, so that only what fails alone is rejected."""
    try:
        take(chunk)
    except (LeaseLostError, FileRefusedError, *DATABASE_IS_GONE):
        raise
    except Exception as error:
        if len(chunk) == 1:
            reject(chunk[0], error)
            return
        for one in chunk:
            take_together([one], take, reject)


def report_stored(job: ImportJob, store: Callable[[], Iterable[ImportRow]], *, clock: Clock) -> None:
    """Store and report in one transaction; try again if another import stored the same at the same time."""
    for tries_left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                job.lease_until = write_report(job, list(store()), now=clock())
            return
        except IntegrityError:
            if not tries_left:
                raise


def write_report(job: ImportJob, rows: Iterable[ImportRow], *, now: datetime) -> datetime:
    """Write rows of the report, in the transaction of what they report; returns the renewed lease.

    Raises LeaseLostError: nothing of this transaction may stay then.
    """
    made = [of_row(row) for row in rows]
    insert_rows(ImportRow, COLUMNS, made)
    return extend(job, now=now, done=len(made))


def extend(job: ImportJob, *, now: datetime, done: int = 0) -> datetime:
    attempts = 0 if done else F("attempts")
    restart_time()
    if job.part_of is not None:
        job.part_of.lease_until = leases.renewed_lease(job.part_of, now=now, attempts=attempts)
    return leases.renewed_lease(job, now=now, done=F("done") + done, attempts=attempts)


def discard(job: ImportJob) -> bool:
    """Delete a preview and its files; returns whether nothing of them was imported."""
    waiting = ImportJob.objects.filter(pk=job.pk, stage=ImportStage.PREVIEW)
    if is_gone := bool(waiting.exclude(state=JobState.RUNNING).delete()[0]):
        file_storage.remove_all(job.folder)
    return is_gone


def discard_forgotten(*, now: datetime) -> None:
    """Delete previews that nobody went on with."""
    for job in ImportJob.objects.filter(stage=ImportStage.PREVIEW, finished_at__lt=now - PREVIEW_KEPT):
        discard(job)


def finish(job: ImportJob, *, now: datetime, error: str = "") -> None:
    """Close the job with what is still open of its parts, and delete its waiting files."""
    if leases.finish_row(job, now=now, error=error):
        job.parts.filter(state__in=OPEN_STATES).update(state=JobState.FAILED, error=printable(error), finished_at=now)
        if job.folder:
            file_storage.remove_all(job.folder)
