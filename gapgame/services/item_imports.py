"""Importing items some lines at a time: items, their images and their report lines are committed together.

No line of the report reveals a word, a key or a sentence: managers of any project of the installation may read it, and
play in this one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.images.models import Collection, Image, ImportJob, ImportKind, ImportOutcome, ImportRow
from core.images.permissions import collections_in
from core.images.services import import_jobs
from core.images.services.import_jobs import Clock
from core.images.services.imports import Opener, unexpected_error_text
from core.jobs.services.leases import LEASE
from core.languages.models import Language
from crosslens_metrics.formats.names import ImageNames
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.recognised_files import RecognisedFile
from crosslens_metrics.formats.records import LineRecord, read_record
from gapgame.formats.sources import central_of, is_corpus, origin_of
from gapgame.models import GapItem, ItemImage, ItemSet, RepresentativeSource, Season, Turn
from gapgame.rules.item_sources import ItemChoice
from gapgame.rules.items import ItemLine, item_line
from gapgame.services.item_image_files import STRIPPED_OF, AnnounceImage, ImageStore, TakenImage
from gapgame.services.item_sources import ItemSource, source_of_path
from gapgame.services.items import CentralImages, is_closed, note_corpus

log = logging.getLogger(__name__)

LINES_PER_TRANSACTION = 50
ALONE_AFTER_ATTEMPTS = 2
"""After so many runs that died, lines are imported one by one, to find the one that kills the worker."""
OpenSource = Callable[[ExitStack], ItemSource]


@dataclass(frozen=True)
class _ReadyLine:
    """A line whose images are in storage; `first` is the index of the representative one."""

    line: ItemLine
    taken: list[TakenImage]
    first: int
    source: RepresentativeSource
    notes: list[str]


def import_path(
    *,
    path: Path,
    item_set: ItemSet,
    opened: Opener | None = None,
    images: Path | None = None,
    embeddings: Opener | None = None,
    collections: Sequence[Collection] = (),
    choice: ItemChoice | None = None,
    said: Mapping[str, str] | None = None,
    named: str = "",
    back: str = "",
    part_of: ImportJob | None = None,
    clock: Clock,
    announce: AnnounceImage,
) -> ImportJob:
    """Import a file, a folder in MultiSubs' layout, or by `choice` a corpus, from this machine at once.

    The report calls it as it is `named`, leads `back`, and is a part of another import's. `said` are names of columns.
    """
    options = {"collections": [collection.slug for collection in collections], "back": back}
    job = import_jobs.start_inline(
        Path(named or path),
        kind=ImportKind.ITEMS,
        collection=item_set.collection,
        project=item_set.project,
        options=options,
        part_of=part_of,
        clock=clock,
    )

    def open_source(stack: ExitStack) -> ItemSource:
        origin = origin_of(path, choice or ItemChoice()) if is_corpus(path) else None
        about: dict[str, Any] = {"choice": choice, "said": said, "stack": stack}
        source = source_of_path(path, opened=opened, images=images, embeddings=embeddings, **about)
        if origin is not None and not is_closed(item_set, clock()):
            note_corpus(item_set=item_set, origin=origin)
        return source

    _run(job, open_source, clock=clock, announce=announce)
    job.refresh_from_db()
    return job


def look_through(file: RecognisedFile, *, choice: ItemChoice, said: Mapping[str, str]) -> None:
    """Count the items of a file by language, with the images that they name and what is wrong with lines.

    Raises FileRefusedError.
    """
    path, languages = Path(file.path), {one.tag: one for one in Language.objects.all()}
    if is_corpus(path):
        origin_of(path, choice)
    with ExitStack() as stack:
        opened = file.part.opened if file.part else None
        about: dict[str, Any] = {"choice": choice, "said": said, "stack": stack}
        source = source_of_path(path, opened=opened, images=None, embeddings=None, **about)
        for record in source.records:
            line = read_record(record, partial(item_line, languages=languages))
            if isinstance(line, LineError):
                file.add_problem(line.reason, _("line %(number)s") % {"number": record.number})
            else:
                file.languages[line.language] += 1
                file.images |= dict.fromkeys((image.name,) for image in line.images)


def made_with_items(items: QuerySet[GapItem], *, now: datetime) -> Iterator[tuple[str, QuerySet[Any]]]:
    """What was made of items: what to call it, and its rows."""
    yield _("turns of players"), Turn.objects.filter(item__in=items)
    yield _("seasons"), Season.objects.filter(item_set__in=items.values("item_set"), starts_at__lte=now)


def _run(job: ImportJob, open_source: OpenSource, *, clock: Clock, announce: AnnounceImage) -> None:
    with import_jobs.to_the_end(job, clock=clock) as last, ExitStack() as stack:
        item_set = ItemSet.objects.select_related("collection", "project").get(collection=job.collection_id)
        job.lease_until = import_jobs.extend(job, now=clock())
        source = open_source(stack)
        ImportJob.objects.filter(pk=job.pk).update(total=source.total)
        there = collections_in(item_set.project)
        others = list(there.filter(slug__in=job.options["collections"]).order_by("pk"))
        central = CentralImages.of_collections([item_set.collection, *others], project=item_set.project)
        images = ImageStore(item_set, source.files, others)
        run = _ItemImport(job, item_set, images, ImageNames(source.embeddings), central, clock, announce)
        run.take_all(record for record in source.records if record.number > last)


@dataclass(frozen=True)
class _ItemImport:
    """One run of a job."""

    job: ImportJob
    item_set: ItemSet
    images: ImageStore
    embeddings: ImageNames[Any]
    central: CentralImages
    clock: Clock
    announce: AnnounceImage
    languages: Mapping[str, Language] = field(default_factory=lambda: {one.tag: one for one in Language.objects.all()})

    def take_all(self, records: Iterator[LineRecord | LineError]) -> None:
        if self.job.attempts > import_jobs.SKIP_AFTER_ATTEMPTS:
            for record in islice(records, 1):
                reason = _("Reading this line stopped the import each time. Check its images.")
                self._reject(record, reason)
        size = 1 if self.job.attempts > ALONE_AFTER_ATTEMPTS else LINES_PER_TRANSACTION
        while chunk := list(islice(records, size)):
            if is_closed(self.item_set, self.clock()):
                raise FileRefusedError(
                    _("A season has started with these sentences, so you cannot change them. Import into another set.")
                )
            import_jobs.take_together(chunk, self._take, self._fail)

    def _take(self, chunk: Sequence[LineRecord | LineError]) -> None:
        ready = self._prepare(chunk)
        import_jobs.report_stored(self.job, lambda: self._rows(chunk, ready), clock=self.clock)

    def _fail(self, record: LineRecord | LineError, error: Exception) -> None:
        log.error("Import %s: line %s could not be taken.", self.job.pk, record.number, exc_info=error)
        self._reject(record, unexpected_error_text(error))

    def _reject(self, record: LineRecord | LineError, reason: str) -> None:
        with transaction.atomic():
            rows = [self._row(record.number, ImportOutcome.REJECTED, reason)]
            self.job.lease_until = import_jobs.write_report(self.job, rows, now=self.clock())

    def _row(self, number: int, outcome: ImportOutcome, reason: str = "") -> ImportRow:
        return import_jobs.report_row(self.job, number, _("line %(number)s") % {"number": number}, outcome, reason)

    def _prepare(self, chunk: Sequence[LineRecord | LineError]) -> dict[int, _ReadyLine | str]:
        """Return by line number what is ready, or why it was refused. Images are stored outside of any transaction."""
        prepared: dict[int, _ReadyLine | str] = {}
        lines: dict[int, ItemLine] = {}
        for record in chunk:
            line = read_record(record, partial(item_line, languages=self.languages))
            if isinstance(line, LineError):
                prepared[record.number] = line.reason
            else:
                lines[record.number] = line
        self.images.look_up(reference for line in lines.values() for reference in line.images)
        for number, line in lines.items():
            try:
                prepared[number] = self._ready(line)
            except LineError as refused:
                prepared[number] = str(refused)
            if self.job.lease_until is None or self.clock() > self.job.lease_until - LEASE / 2:
                self.job.lease_until = import_jobs.extend(self.job, now=self.clock())
        return prepared

    def _ready(self, line: ItemLine) -> _ReadyLine:
        taken = [self.images.take(image, line.word, number) for number, image in enumerate(line.images, start=1)]
        notes = [*line.warnings, *(note for stored in taken for note in stored.notes)]
        central = None
        if self.embeddings.named:
            names = [
                (image.name, stored.sha256, stored.attribution.extra.get(STRIPPED_OF, ""))
                for image, stored in zip(line.images, taken, strict=True)
            ]
            central, missing = central_of(self.embeddings, names)
            if missing:
                note = _("%(missing)s of %(count)s images have no embedding, so none were compared.")
                notes.append(note % {"missing": missing, "count": len(taken)})
        if central is not None:
            return _ReadyLine(line, taken, central, RepresentativeSource.EMBEDDINGS, notes)
        if line.representative is not None:
            return _ReadyLine(line, taken, line.representative, RepresentativeSource.FILE, notes)
        if not self.embeddings.named:
            central = self.central.central_index_of_images([stored.sha256 for stored in taken])
        if central is not None:
            return _ReadyLine(line, taken, central, RepresentativeSource.EMBEDDINGS, notes)
        return _ReadyLine(line, taken, 0, RepresentativeSource.FIRST, notes)

    def _rows(self, chunk: Sequence[LineRecord | LineError], ready: dict[int, _ReadyLine | str]) -> list[ImportRow]:
        keys = {one.line.key for one in ready.values() if isinstance(one, _ReadyLine)}
        there = GapItem.objects.filter(item_set=self.item_set, key__in=keys).prefetch_related("images__image")
        by_key = {item.key: item for item in there}
        rows = []
        for record in chunk:
            one = ready[record.number]
            if isinstance(one, str):
                rows.append(self._row(record.number, ImportOutcome.REJECTED, one))
                continue
            outcome, reason = self._put(one, by_key)
            rows.append(self._row(record.number, outcome, reason))
        return rows

    def _put(self, one: _ReadyLine, by_key: dict[str, GapItem]) -> tuple[ImportOutcome, str]:
        item = by_key.get(one.line.key)
        if item is not None:
            return _compared(item, one)
        images = [
            self.images.put(taken, one.line.word, announce=self.announce, job=self.job, now=self.clock())
            for taken in one.taken
        ]
        notes = one.notes + [_unlicensed(place) for place, image in enumerate(images, start=1) if not image.licence]
        by_key[one.line.key] = self._create(one, images)
        return ImportOutcome.ADDED, " ".join(notes)

    def _create(self, one: _ReadyLine, images: list[Image]) -> GapItem:
        line = one.line
        item = GapItem.objects.create(
            item_set=self.item_set,
            key=line.key,
            language=self.languages[line.language],
            before=line.before,
            after=line.after,
            word=line.word,
            split=line.split,
            sense=list(line.sense),
            representative_source=one.source,
            import_job=self.job,
        )
        # Two names of a line may be one stored image.
        ordered = dict.fromkeys([images[one.first], *images])
        ItemImage.objects.bulk_create(
            ItemImage(item=item, image=image, position=position) for position, image in enumerate(ordered)
        )
        return item


def _compared(item: GapItem, one: _ReadyLine) -> tuple[ImportOutcome, str]:
    """Handle a line whose key exists; `item` has its images loaded."""
    line = one.line
    kept = (item.language_id, item.before, item.after, item.word, item.split, item.sense)
    given = (line.language, line.before, line.after, line.word, line.split, list(line.sense))
    images = [entry.image.sha256 for entry in item.images.all()]
    if kept != given or set(images) != {taken.sha256 for taken in one.taken}:
        return ImportOutcome.REJECTED, _(
            "This set already has a sentence with this key and different content. It cannot be changed, "
            "because people may have played it. Use a different key."
        )
    if images[0] != one.taken[one.first].sha256:
        return ImportOutcome.ALREADY, _(
            "The sentence is already in this set, with another representative image, which is kept."
        )
    return ImportOutcome.ALREADY, _("The sentence is already in this set.")


def _unlicensed(number: int) -> str:
    return _("Image %(number)s has no known licence.") % {"number": number}
