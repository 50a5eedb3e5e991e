"""Create, fill and delete lists of candidates: files are read in chunks, each with its progress in one transaction.

What a run that was killed had stored, the next one passes over: it reads the same file again and continues after the
last line stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.images.models import ImportJob, ImportKind, ImportOutcome, ImportRow
from core.images.selectors import COUNTED
from core.images.services import import_jobs
from core.images.services.import_jobs import Clock
from core.images.services.imports import Opener, run_local_file
from core.jobs.models import OPEN_STATES, JobState
from core.jobs.services.insertions import insert_rows
from core.people.models import Project, User
from core.people.services import audit_log
from crosslens_metrics.formats.opening import opened_text
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.recognised_files import RecognisedFile
from geography.places import PointPlace
from research.selection.formats.candidate_files import SeenTexts, candidate_lines, digest_of, sha256_of
from research.selection.models import Candidate, CandidateList
from research.selection.rules.candidates import CandidateFault, CandidateLine, same_address
from research.selection.selectors.pools import fault_text
from research.selection.services.places import current_borders

DELETED_AT_ONCE = 10_000


class CandidatesRefusedError(Exception):
    """The list cannot be created or deleted; the message says why and what to do."""


def slug_of(name: str) -> str:
    """Return the slug of a list with this name, or with this wish for a slug."""
    return slugify(name)[:80].strip("-") or "candidates"


def create_list(
    *, project: Project, name: str, slug: str = "", source_name: str, by: User | None, now: datetime
) -> CandidateList:
    """Create an empty list.

    Raises CandidatesRefusedError where the project has a list with this slug.
    """
    slug = slug_of(slug or name)
    with transaction.atomic():
        audit_log.lock(project, by)
        if CandidateList.objects.filter(project=project, slug=slug).exists():
            raise CandidatesRefusedError(
                _("The project already has a list of candidates “%(slug)s”. Choose another name, or delete it.")
                % {"slug": slug}
            )
        made = CandidateList.objects.create(
            project=project,
            slug=slug,
            name=name,
            source_name=source_name,
            counts={"complete": False},
            created_at=now,
            created_by=by,
        )
        _record(made, "import_started", by=by, now=now)
    return made


def record_import(*, candidates: CandidateList, by: User | None, now: datetime) -> None:
    """Log that the file of a list was read to its end. Call within the transaction that says so."""
    counts = {name: candidates.counts[name] for name in ("kept", "left_out", "needs_licence")}
    _record(candidates, "imported", by=by, now=now, sha256=candidates.sha256, **counts)


def delete_list(*, candidates: CandidateList, by: User | None, now: datetime) -> None:
    """Delete a list that no selection uses, and its candidates.

    Raises CandidatesRefusedError.
    """
    with transaction.atomic():
        audit_log.lock(candidates.project, by)
        if candidates.selections.exists():
            raise CandidatesRefusedError(_("A selection uses this list. Lists in use cannot be deleted."))
        try:
            clear_list(candidates)
            candidates.delete()
        except ProtectedError as error:
            raise CandidatesRefusedError(_("A selection uses this list. Lists in use cannot be deleted.")) from error
        _record(candidates, "deleted", by=by, now=now)


def clear_list(candidates: CandidateList) -> None:
    """Delete all candidates of a list, in parts, because there may be millions."""
    rows = Candidate.objects.filter(list=candidates)
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:DELETED_AT_ONCE]):
        rows.filter(pk__in=ids).delete()


def _record(candidates: CandidateList, verb: str, *, by: User | None, now: datetime, **details: Any) -> None:
    action, about = f"candidates.{verb}", candidates.slug
    audit_log.record(project=candidates.project, action=action, about=about, by=by, now=now, details=details)


LINE_FIELDS = tuple(field.name for field in fields(CandidateLine))
COLUMNS = ("list_id", "countries", "regions", "continent", *LINE_FIELDS)

_of_line = attrgetter(*LINE_FIELDS)


def store_lines(candidates: CandidateList, lines: Sequence[CandidateLine], places: Iterable[PointPlace]) -> None:
    """Insert a row for each line with its place, in the transaction of the caller."""
    rows = [
        (candidates.pk, " ".join(place.countries), " ".join(place.regions), place.continent, *_of_line(line))
        for line, place in zip(lines, places, strict=True)
    ]
    insert_rows(Candidate, COLUMNS, rows)


LINES_PER_TRANSACTION = 5_000
LINES_COMPARED = 20_000
"""Lines in memory, which are looked up among the earlier ones together."""

MAX_REPORTED = 2_000
"""Rows of the report, for the first faulty lines; all of them are counted."""

LIST, NEEDS_LICENCE = "list", "needs_licence"

Judged = tuple[int, str, CandidateLine | CandidateFault | LineError]


def import_path(
    *,
    path: Path,
    project: Project,
    name: str,
    needs_licence: bool = True,
    opened: Opener | None = None,
    part_of: ImportJob | None = None,
    clock: Clock,
) -> ImportJob:
    """Import a local file at once, or continue where a worker or a command that was killed left the same file.

    `path` is what the report calls a file that is `opened` elsewhere, as a part of another import.

    Raises CandidatesRefusedError.
    """
    opened = opened or partial(opened_text, path)
    by = part_of.created_by if part_of else None
    candidates = _unfinished(opened, project, slug_of(name), part_of) or create_list(
        project=project, name=name, source_name=path.name[-500:], by=by, now=clock()
    )
    return run_local_file(
        path,
        _run,
        opened=opened,
        kind=ImportKind.CANDIDATES,
        collection=None,
        project=project,
        options={LIST: candidates.pk, NEEDS_LICENCE: needs_licence},
        part_of=part_of,
        clock=clock,
    )


def look_through(file: RecognisedFile, *, needs_licence: bool) -> None:
    """Note in `file` what keeps some of its first lines out.

    Raises FileRefusedError.
    """
    assert file.part is not None
    with file.part.opened() as opened:
        for number, name, line in islice(candidate_lines(opened, needs_licence=needs_licence), LINES_COMPARED):
            if not isinstance(line, CandidateLine):
                file.add_problem(_reason_of(line), name or _("line %(number)s") % {"number": number})


def _reason_of(line: CandidateFault | LineError) -> str:
    return line.reason if isinstance(line, LineError) else fault_text(line)


def _fault_of(line: CandidateFault | LineError) -> str:
    return str(CandidateFault.UNREADABLE if isinstance(line, LineError) else line)


def _unfinished(opened: Opener, project: Project, slug: str, part_of: ImportJob | None) -> CandidateList | None:
    """Find the list that an interrupted import began with the same file, perhaps this one."""
    candidates = CandidateList.objects.filter(project=project, slug=slug).first()
    if candidates is None or candidates.counts.get("complete", True):
        return None
    with opened() as file:
        if candidates.sha256 not in ("", sha256_of(file)):
            return None
    options = {f"options__{LIST}": candidates.pk}
    earlier = ImportJob.objects.filter(kind=ImportKind.CANDIDATES, state__in=OPEN_STATES, **options)
    earlier = earlier if part_of is None else earlier.exclude(part_of=part_of)
    # The earlier command loses its lease, so that two imports never write into one list.
    if earlier.exclude(**{f"options__{import_jobs.IS_INLINE}": True}).exists():
        raise CandidatesRefusedError(_("This list is still being imported. Wait until the import has finished."))
    earlier.update(state=JobState.FAILED, lease_until=None, error=_("Another command continued this import."))
    return candidates


def _run(job: ImportJob, open_file: Opener, *, clock: Clock) -> None:
    candidates = CandidateList.objects.filter(pk=job.options[LIST]).first()
    with import_jobs.to_the_end(job, clock=clock) as last_row, open_file() as file:
        if candidates is None:
            raise FileRefusedError(_("The list of candidates was deleted."))
        _CandidateImport(job, candidates, clock).take_all(file, last_row)
    job.refresh_from_db()
    if candidates is not None and job.state == JobState.FAILED:
        delete_list(candidates=candidates, by=None, now=clock())


class _CandidateImport:
    """One run of a job."""

    def __init__(self, job: ImportJob, candidates: CandidateList, clock: Clock) -> None:
        self.job, self.candidates, self.clock = job, candidates, clock
        self.borders = current_borders()

    def take_all(self, file: IO[bytes], last_row: int) -> None:
        job, candidates = self.job, self.candidates
        self._begin(sha256_of(file))
        counts = candidates.counts
        self.reported = job.rows.count()
        needs_licence = job.options[NEEDS_LICENCE]
        with SeenTexts() as seen:
            lines = without_repeats(candidate_lines(file, needs_licence=needs_licence), seen)
            while chunk := list(islice(lines, LINES_PER_TRANSACTION)):
                if chunk[-1][0] <= counts["line"]:
                    job.lease_until = import_jobs.extend(job, now=self.clock())
                    continue
                self._take([one for one in chunk if one[0] > counts["line"]], last_row)
        if not counts["line"]:
            raise FileRefusedError(_("The file has no lines below its header."))
        if counts["complete"]:
            return
        counts["complete"] = True
        with transaction.atomic():
            audit_log.lock(candidates.project, job.created_by)
            job.lease_until = import_jobs.extend(job, now=self.clock())
            candidates.save(update_fields=["counts"])
            record_import(candidates=candidates, by=job.created_by, now=self.clock())

    def _begin(self, sha256: str) -> None:
        candidates = self.candidates
        settings = {"needs_licence": self.job.options[NEEDS_LICENCE]}
        is_same = (candidates.sha256, candidates.borders) == (sha256, self.borders.version)
        if is_same and candidates.counts.get("needs_licence") == settings["needs_licence"]:
            return
        with transaction.atomic():
            self.job.lease_until = import_jobs.extend(self.job, now=self.clock())
            clear_list(candidates)
            candidates.sha256, candidates.borders = sha256, self.borders.version
            counts = {"complete": False, "line": 0, "kept": 0, "left_out": {}, "countries": {}, "at_sea": 0}
            candidates.counts = settings | counts
            candidates.save(update_fields=["sha256", "borders", "counts"])

    def _take(self, chunk: list[Judged], last_row: int) -> None:
        kept = [line for _number, _name, line in chunk if isinstance(line, CandidateLine)]
        places = self.borders.locate([one.latitude for one in kept], [one.longitude for one in kept]) if kept else []
        faulty = [(number, name, fault) for number, name, fault in chunk if not isinstance(fault, CandidateLine)]
        shown = [one for one in faulty if one[0] > last_row][: max(0, MAX_REPORTED - self.reported)]
        counts = self.candidates.counts
        counts["line"], counts["kept"] = chunk[-1][0], counts["kept"] + len(kept)
        counts["left_out"] = _added(counts["left_out"], (_fault_of(fault) for _number, _name, fault in faulty))
        counts["countries"] = _added(counts["countries"], (code for place in places for code in place.countries))
        counts["at_sea"] += sum(not place.countries for place in places)
        with transaction.atomic():
            store_lines(self.candidates, kept, places)
            ImportRow.objects.bulk_create(
                import_jobs.report_row(self.job, number, name or str(number), ImportOutcome.REJECTED, _reason_of(fault))
                for number, name, fault in shown
            )
            self.candidates.save(update_fields=["counts"])
            left_out = sum(counts["left_out"].values())
            self.job.options[COUNTED] = {ImportOutcome.ADDED: counts["kept"], ImportOutcome.REJECTED: left_out}
            self.job.save(update_fields=["options"])
            self.job.lease_until = import_jobs.extend(self.job, now=self.clock(), done=len(chunk))
        self.reported += len(shown)


def without_repeats(lines: Iterator[Judged], seen: SeenTexts) -> Iterator[Judged]:
    """Leave out keys and images that an earlier line had: an address or a checksum is of one image."""
    while some := list(islice(lines, LINES_COMPARED)):
        marks = {number: _marks(line) for number, _name, line in some if isinstance(line, CandidateLine)}
        before = seen.among(mark for of_line in marks.values() for mark in of_line)
        new: set[bytes] = set()
        for number, name, line in some:
            if not isinstance(line, CandidateLine):
                yield number, name, line
                continue
            key, *image = marks[number]
            if key in before or key in new:
                yield number, name, CandidateFault.KEY_TWICE
            elif not (before.isdisjoint(image) and new.isdisjoint(image)):
                yield number, name, CandidateFault.IMAGE_TWICE
            else:
                new.update(marks[number])
                yield number, name, line
        seen.add(new)


def _marks(line: CandidateLine) -> list[bytes]:
    marks = [f"key {line.key}", f"address {same_address(line.address)}"]
    return [digest_of(mark) for mark in ([*marks, f"checksum {line.checksum}"] if line.checksum else marks)]


def _added(counts: dict[str, int], names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(counts) + Counter(names))
