"""Import reference captions by hundreds of images, each with its rows of the report in one transaction.

The lines of an image may lie anywhere in a file, so all are read before any is taken. An image gets the captions of the
file in place of those it had; images that the file does not name keep theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TypeVar

from django.db import transaction
from django.utils.translation import gettext as _

from core.images.models import Collection, Image, ImportJob, ImportKind, ImportOutcome, ImportRow
from core.images.selectors.filters import ImageSearch
from core.images.services import import_jobs
from core.images.services.import_jobs import Clock
from core.images.services.imports import Opener, run_local_file, unexpected_error_text
from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics.formats.caption_rows import MAX_PER_IMAGE
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import count_lines
from research.scoring.formats.references import ReferenceLine, reference_lines
from research.scoring.models import ReferenceKind, ReferenceSet
from research.scoring.services.references import CaptionChange, ReferenceFileError, put_references, set_of

log = logging.getLogger(__name__)

T = TypeVar("T")

IMAGES_PER_TRANSACTION = 250
LINES_PER_LOOK_UP = 500


@dataclass(slots=True)
class _ImageLines:
    """An image, of which nothing else is kept, and all lines of the file about it."""

    image_id: int
    lines: list[ReferenceLine] = field(default_factory=list)

    def captions(self, tag: str) -> list[str]:
        return [text for line in self.lines for of, text in line.captions if of == tag]

    @property
    def tags(self) -> list[str]:
        return list(dict.fromkeys(tag for line in self.lines for tag, _text in line.captions))


def import_path(
    *,
    path: Path,
    project: Project,
    collection: Collection,
    language: Language | None,
    name: str,
    kind: ReferenceKind = ReferenceKind.IMPORTED,
    source: str = "",
    otherwise: str = "",
    said: Mapping[str, str] | None = None,
    folder: str = "",
    written_by: str = "",
    opened: Opener | None = None,
    part_of: ImportJob | None = None,
    clock: Clock,
) -> ImportJob:
    """Import a file of this machine at once. `said` names columns, as `layout_of` takes them.

    Without a `language` all that the lines name are taken; each goes into a set of its own, all of the same name.
    Captions that do not say their language are in the one with the tag `otherwise`, if no `language` is given. `path`
    is what the report calls a file that is `opened` elsewhere. Images are looked for in `folder` first.
    With `written_by` only captions by people or by models are read.
    """
    options = {"project": project.pk, "language": language.tag if language else "", "otherwise": otherwise}
    return run_local_file(
        path,
        _run,
        opened=opened,
        kind=ImportKind.REFERENCES,
        collection=collection,
        project=project,
        options=options
        | {"name": name, "kind": str(kind), "source": source}
        | {"map": dict(said or {}), "folder": folder, "written_by": written_by},
        part_of=part_of,
        clock=clock,
    )


def _run(job: ImportJob, open_file: Opener, *, clock: Clock) -> None:
    with import_jobs.to_the_end(job, clock=clock), open_file() as file:
        _ReferenceImport(job, clock).take_all(file)


class _ReferenceImport:
    """One run of a job."""

    def __init__(self, job: ImportJob, clock: Clock) -> None:
        self.job, self.clock = job, clock
        # Told of in the transaction that took them.
        self.reported = set(job.rows.values_list("number", flat=True))
        self.sets: dict[str, ReferenceSet] = {}

    def take_all(self, file: IO[bytes]) -> None:
        job = self.job
        job.lease_until = import_jobs.extend(job, now=self.clock())
        ImportJob.objects.filter(pk=job.pk).update(total=count_lines(file))
        known = Language.objects.values_list("pk", flat=True)
        options = job.options
        about = {name: options.get(name, "") for name in ("otherwise", "folder", "written_by")}
        lines = reference_lines(file, language=options["language"], known=known, said=options.get("map"), **about)
        units, refused = self._units(lines)
        self.sets = self._sets(units)
        for some in _parted(refused, IMAGES_PER_TRANSACTION):
            rows = [self._rejected(line) for line in some]
            with transaction.atomic():
                job.lease_until = import_jobs.write_report(job, rows, now=self.clock())
        for units_at_once in _parted(units, IMAGES_PER_TRANSACTION):
            import_jobs.take_together(units_at_once, self._take, self._fail)

    def _units(self, lines: Iterator[ReferenceLine | LineError]) -> tuple[list[_ImageLines], list[LineError]]:
        """Find the images still to be imported, and the refused lines that were not reported yet."""
        units: dict[int, _ImageLines] = {}
        refused: list[LineError] = []
        search = ImageSearch(self.job.collection, images=Image.objects.only("pk"))
        # By the names of each image, as each of its captions may be a line of its own: its key, or why it is none.
        found: dict[tuple[str, ...], int | str] = {}
        for some in _parted(lines, LINES_PER_LOOK_UP):
            named = [line for line in some if isinstance(line, ReferenceLine)]
            refused += [line for line in some if isinstance(line, LineError)]
            fresh = search.of_names(line.names for line in named if line.names not in found)
            found |= {names: image.only.pk if image.only else image.problem for names, image in fresh.items()}
            for line in named:
                if isinstance(image := found[line.names], int):
                    lines_of = units.setdefault(image, _ImageLines(image)).lines
                    # The names of an image are kept once: of its five captions they would take as much as the texts.
                    first = lines_of[0].names if lines_of else line.names
                    lines_of.append(replace(line, names=first) if first == line.names else line)
                else:
                    refused.append(_refused(line, image))
            self.job.lease_until = import_jobs.extend(self.job, now=self.clock())
        too_many = [
            unit for unit in units.values() if any(len(unit.captions(tag)) > MAX_PER_IMAGE for tag in unit.tags)
        ]
        for unit in too_many:
            del units[unit.image_id]
            refused += [_refused(line, _too_many()) for line in unit.lines]
        return (
            [unit for unit in units.values() if any(line.number not in self.reported for line in unit.lines)],
            [line for line in refused if line.number not in self.reported],
        )

    def _sets(self, units: Sequence[_ImageLines]) -> dict[str, ReferenceSet]:
        options, collection = self.job.options, self.job.collection
        assert collection is not None
        languages = Language.objects.in_bulk(sorted({tag for unit in units for tag in unit.tags}))
        try:
            with transaction.atomic():
                project = Project.objects.get(pk=options["project"])
                return {
                    tag: set_of(
                        project=project,
                        collection=collection,
                        language=language,
                        name=options["name"],
                        kind=ReferenceKind(options["kind"]),
                        source=options["source"],
                        by=self.job.created_by,
                        now=self.clock(),
                    )
                    for tag, language in languages.items()
                }
        except ReferenceFileError as refused:
            raise FileRefusedError(str(refused)) from refused

    def _take(self, units: Sequence[_ImageLines]) -> None:
        with transaction.atomic():
            self.job.lease_until = import_jobs.write_report(self.job, self._put(units), now=self.clock())

    def _fail(self, unit: _ImageLines, error: Exception) -> None:
        log.error("Import %s: image %s could not be taken.", self.job.pk, unit.image_id, exc_info=error)
        rows = [self._rejected(_refused(line, unexpected_error_text(error))) for line in unit.lines]
        with transaction.atomic():
            self.job.lease_until = import_jobs.write_report(self.job, rows, now=self.clock())

    def _put(self, units: Sequence[_ImageLines]) -> list[ImportRow]:
        changes: dict[tuple[int, str], CaptionChange] = {}
        # Always in the same order, so that two imports never wait for each other's sets.
        for tag, reference_set in sorted(self.sets.items()):
            captions = {unit.image_id: unit.captions(tag) for unit in units if tag in unit.tags}
            if captions:
                made = put_references(reference_set=reference_set, captions=captions, job=self.job, now=self.clock())
                changes |= {(image, tag): change for image, change in made.items()}
        return [
            self._report_row(unit, line, {tag: changes[unit.image_id, tag] for tag, _text in line.captions})
            for unit in units
            for line in unit.lines
            if line.number not in self.reported
        ]

    def _report_row(self, unit: _ImageLines, line: ReferenceLine, changes: dict[str, CaptionChange]) -> ImportRow:
        left_out = list(line.left_out)
        replaced = [tag for tag, change in changes.items() if change == CaptionChange.REPLACED]
        if replaced:
            left_out.insert(
                0, _("This replaced what the image had in %(languages)s.") % {"languages": ", ".join(replaced)}
            )
        already = sum(changes[tag] == CaptionChange.SAME for tag, _text in line.captions)
        counts = {ImportOutcome.ADDED: line.count - already, ImportOutcome.ALREADY: already}
        counts[ImportOutcome.REJECTED] = line.captions_left_out
        outcome = ImportOutcome.ADDED if counts[ImportOutcome.ADDED] else ImportOutcome.ALREADY
        if outcome == ImportOutcome.ALREADY:
            left_out.insert(0, _("The image already has these captions."))
        reason = " ".join(left_out)
        row = import_jobs.report_row(
            self.job, line.number, line.name, outcome, reason, counts=counts, had_hidden=line.had_hidden
        )
        row.image_id = unit.image_id
        return row

    def _rejected(self, line: LineError) -> ImportRow:
        name = line.name or _("line %(number)s") % {"number": line.number}
        counts = {ImportOutcome.REJECTED: line.lost}
        return import_jobs.report_row(self.job, line.number, name, ImportOutcome.REJECTED, line.reason, counts=counts)


def _refused(line: ReferenceLine, reason: str) -> LineError:
    return LineError(reason, line.name, number=line.number, captions=line.count + line.captions_left_out)


def _too_many() -> str:
    return _("The image has more than %(limit)s captions in this file.") % {"limit": MAX_PER_IMAGE}


def _parted(items: Iterable[T], size: int) -> Iterator[list[T]]:
    some: list[T] = []
    for item in items:
        some.append(item)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some
