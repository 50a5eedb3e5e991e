"""Import images into a collection one by one, each with its row of the report in one transaction."""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils.translation import gettext as _

from core.images.models import Collection, ImportJob, ImportKind, ImportOutcome
from core.images.rules.attributions import LABELS, reason_of
from core.images.rules.image_checks import ImageFacts, ImageRefusedError
from core.images.services import file_storage, import_jobs
from core.images.services.collections import KeyTakenError, put_in
from core.images.services.expected_images import expected_image
from core.images.services.images import image_of, store_original
from core.images.services.import_jobs import Clock
from core.images.services.sources import ImportEntry, plan_of_path, said_beside, spooled_file
from core.jobs.services.leases import LeaseLostError
from crosslens_metrics.formats.opening import opened_text
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import printable
from geography.places import CoordinateFault

Announce = Callable[[int], None]
"""Called within a transaction with the primary key of a new image: make its sizes once the transaction commits."""

Opener = Callable[[], AbstractContextManager[IO[bytes]]]


class RunFile(Protocol):
    """Takes in all lines of a file."""

    def __call__(self, job: ImportJob, open_file: Opener, *, clock: Clock) -> None: ...


FILE_NAMES = "files"

NOT_OF_ONE_FILE = (LeaseLostError, *import_jobs.DATABASE_IS_GONE)
"""Errors that end the import instead of rejecting one file: the job or the database is gone."""

ROWS_PER_TRANSACTION = 250
"""Of files and lines that are rejected without reading them."""

log = logging.getLogger(__name__)


def keep_waiting(uploads: Iterable[UploadedFile[Any]]) -> tuple[str, list[str]]:
    """Store files as `folder`/1, `folder`/2, … until they are imported; returns the folder and their original names."""
    folder = f"imports/{uuid.uuid4().hex}"
    names = []
    for position, upload in enumerate(uploads, start=1):
        upload.seek(0)
        file_storage.put(f"{folder}/{position}", upload)
        names.append((upload.name or str(position))[: import_jobs.NAME_CHARACTERS])
    return folder, names


def run_local_file(path: Path, run: RunFile, *, opened: Opener | None = None, clock: Clock, **about: Any) -> ImportJob:
    """Import one file of this machine at once, in a job of any kind; `opened` opens one that is in an archive."""
    job = import_jobs.start_inline(path, **about, clock=clock)
    run(job, opened or partial(opened_text, path), clock=clock)
    job.refresh_from_db()
    return job


def import_path(
    *,
    path: Path,
    collection: Collection,
    left_aside: Container[str] = (),
    refused: Sequence[LineError] = (),
    named: str = "",
    said: Mapping[str, str] | None = None,
    part_of: ImportJob | None = None,
    clock: Clock,
    announce: Announce,
) -> ImportJob:
    """Import an image, a folder, a manifest, or a zip or tar file at once, but for the files `left_aside`.

    The report calls it as it is `named`, and is a part of another import's. It ends with what was `refused` before.
    `said` are columns of its manifest.
    """
    job = import_jobs.start_inline(
        Path(named or path),
        kind=ImportKind.IMAGES,
        collection=collection,
        project=part_of.project if part_of else collection.project,
        part_of=part_of,
        clock=clock,
    )

    def plan() -> list[ImportEntry | LineError]:
        items = plan_of_path(path, stack, said)
        for number, one in enumerate(refused, start=items[-1].number + 1 if items else 1):
            one.number = number
        return [item for item in [*items, *refused] if item.name not in left_aside]

    with ExitStack() as stack:
        _run(job, plan, clock=clock, announce=announce)
    job.refresh_from_db()
    return job


def _run(
    job: ImportJob, make_plan: Callable[[], list[ImportEntry | LineError]], *, clock: Clock, announce: Announce
) -> None:
    with import_jobs.to_the_end(job, clock=clock):
        plan = make_plan()
        if not plan:
            raise FileRefusedError(_("It has no files."))
        job.lease_until = import_jobs.extend(job, now=clock())
        ImportJob.objects.filter(pk=job.pk).update(total=len(plan))
        reported = set(job.rows.values_list("number", flat=True))
        left = [item for item in plan if item.number not in reported]
        if left and job.attempts > import_jobs.SKIP_AFTER_ATTEMPTS:
            reason = _("Reading this file stopped the import each time. Check the file.")
            left[0] = LineError(reason, left[0].name, number=left[0].number)
        for step in _steps(left):
            if isinstance(step, ImportEntry):
                job.lease_until = _take(job, step, clock=clock, announce=announce)
            else:
                job.lease_until = _reject(job, step, clock=clock)


def _steps(items: list[ImportEntry | LineError]) -> Iterator[ImportEntry | list[LineError]]:
    """Split entries into transactions: one per file, and blocks of those that need no check."""
    refused: list[LineError] = []
    for item in items:
        if isinstance(item, LineError):
            refused.append(item)
            if len(refused) < ROWS_PER_TRANSACTION:
                continue
        if refused:
            yield refused
            refused = []
        if isinstance(item, ImportEntry):
            yield item
    if refused:
        yield refused


def _take(job: ImportJob, entry: ImportEntry, *, clock: Clock, announce: Announce) -> datetime:
    try:
        with spooled_file(entry.content) as file:
            return _add(job, entry, file, clock=clock, announce=announce)
    except (ImageRefusedError, KeyTakenError) as refused:
        reason = str(refused)
    except NOT_OF_ONE_FILE:
        raise
    except Exception as error:
        log.exception("Import %s: file %s could not be taken.", job.pk, entry.number)
        reason = unexpected_error_text(error)
    return _reject(job, [LineError(reason, entry.name, number=entry.number)], clock=clock)


def unexpected_error_text(error: Exception) -> str:
    """Describe an unexpected error by its type only, because its message might repeat the content."""
    return _("It cannot be read (%(error)s).") % {"error": type(error).__name__}


def _add(job: ImportJob, entry: ImportEntry, file: IO[bytes], *, clock: Clock, announce: Announce) -> datetime:
    assert job.collection is not None
    size_bytes = file.seek(0, 2)
    sha256, facts = store_original(file, name=entry.name, size_bytes=size_bytes)
    (address, attribution, left_out), path = said_beside(entry), printable(entry.name)
    now = clock()
    with transaction.atomic():
        expected = expected_image(job.collection, entry.keys, address or path)
        if expected and not address:
            # What img2dataset fetched may have been written anew.
            _check_sum(file, expected.checksum)
        image, is_new, filled_in, kept = image_of(
            sha256=sha256,
            facts=facts,
            attribution=expected.attribution if expected else attribution.fetched_from(address),
            size_bytes=size_bytes,
            job=job,
            now=now,
        )
        keys = [expected.key] if expected else entry.keys
        outcome, reason = put_in(job.collection, image, keys=keys, path=path, is_new=is_new)
        if expected:
            expected.take(image, path, is_new)
        if is_new:
            announce(image.pk)
        if image.latitude is None:
            reason = " ".join(filter(None, [reason, _position_fault(facts)]))
        reason = " ".join(filter(None, [reason, _kept(kept), _left_out(() if expected else left_out)]))
        line = import_jobs.report_row(job, entry.number, entry.name, outcome, reason, image, filled_in)
        return import_jobs.write_report(job, [line], now=now)


def _check_sum(file: IO[bytes], checksum: str) -> None:
    algorithm, _colon, digest = checksum.partition(":")
    file.seek(0)
    if digest and hashlib.file_digest(file, algorithm).hexdigest() != digest:  # type: ignore[arg-type]
        raise ImageRefusedError(_("The file does not have the checksum of the list: it is another file by now."))


def _kept(fields: Sequence[str]) -> str:
    return _("Other values are stored for it and were kept: %(names)s.") % {"names": _labels(fields)} if fields else ""


def _left_out(fields: Sequence[str]) -> str:
    """Say what cannot be kept of what lies beside an image."""
    return (
        _("Of the data beside the image, this could not be kept: %(names)s.") % {"names": _labels(fields)}
        if fields
        else ""
    )


def _labels(fields: Sequence[str]) -> str:
    return ", ".join(str(LABELS[field]) for field in fields)


def _position_fault(facts: ImageFacts | None) -> str:
    if facts is None or not isinstance(facts.position, CoordinateFault):
        return ""
    return _("The place in its EXIF data was left out. %(reason)s") % {"reason": reason_of(facts.position)}


def _reject(job: ImportJob, problems: list[LineError], *, clock: Clock) -> datetime:
    outcome = ImportOutcome.REJECTED
    rows = [
        import_jobs.report_row(job, one.number, one.name, outcome, one.reason, counts={outcome: one.captions})
        for one in problems
    ]
    with transaction.atomic():
        return import_jobs.write_report(job, rows, now=clock())
