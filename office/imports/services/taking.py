"""Import files that were looked through, one after the other: each is a part of the job, with a report of its own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.services.caption_imports import import_path as import_rounds
from core.images.models import Collection, ImportJob, ImportKind
from core.images.services import import_jobs, imports
from core.images.services.collections import create_collection
from core.images.services.import_jobs import Clock
from core.jobs.models import OPEN_STATES, JobState
from core.jobs.services import leases
from crosslens_metrics.formats.caption_rows import CaptionRow, given_texts
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.opening import KEPT_IN_MEMORY_BYTES
from crosslens_metrics.formats.problems import LeftOutError, LineError
from crosslens_metrics.formats.recognised_files import (
    BY_MODELS,
    CAPTIONS_BY_PEOPLE,
    REFERENCES,
    UNKNOWN_KIND,
    RecognisedFile,
)
from crosslens_metrics.formats.recognition import captions_of, sentence_rows
from crosslens_metrics.formats.table_parts import FileKind
from crosslens_metrics.formats.xm3600 import KEY, LAYOUT_NAME
from gapgame.models import ItemSet
from gapgame.services.item_imports import import_path as import_items
from gapgame.services.items import item_set_named, remove_if_empty
from office.imports.services.beginnings import begin_languages
from office.imports.services.previews import ImportWish, PreviewedFile, name_of
from research.inference.services.captions import import_path as import_captions
from research.scoring.models import ReferenceKind
from research.scoring.services.reference_imports import import_path as import_references
from research.selection.models import CandidateList
from research.selection.services.candidates import CandidatesRefusedError
from research.selection.services.candidates import import_path as import_candidates
from sxs_eval.services.judgement_imports import import_path as import_judgements

NOTICE = "notice"
"""Option of a job: what somebody should know of an import that is done."""
NOTHING_TO_TAKE = (FileKind.NAMES, FileKind.SENTENCES, FileKind.VECTORS, UNKNOWN_KIND)


def take(
    job: ImportJob,
    previewed: Sequence[PreviewedFile],
    wish: ImportWish,
    *,
    shown: Callable[[str], str] = str,
    refused: Mapping[str, Sequence[LineError]] = MappingProxyType({}),
    clock: Clock,
    announce: imports.Announce,
) -> None:
    """Import the files one after the other, images first and judgements last, each as a part of the job.

    `shown` says what a report calls a path, whatever folder it was copied to. `refused` has, by the path of a folder or
    archive of images, what was left out of it.
    """
    wish = _with_collection(job, wish)
    for one in previewed:
        # Nothing asks for them any more, and those of a large file take tens of megabytes.
        one.file.images.clear()
    taken = [one.file for one in previewed if one.file.kind not in NOTHING_TO_TAKE]
    if any(file.kind == FileKind.GAP_ITEMS for file in taken):
        # Their images go into a collection of their own, and are no others'.
        taken = [file for file in taken if file.kind != FileKind.IMAGES]
    # Those of one series are references of the same images, and would replace each other.
    series = {file.series: [one for one in taken if one.series == file.series] for file in taken if file.series}
    files = [file for file in taken if not file.series or file is series[file.series][0]]
    files.sort(key=lambda file: (file.kind != FileKind.IMAGES, file.kind == FileKind.JUDGEMENTS))
    taking = _FileTaking(job, previewed, wish, shown, refused, clock, announce)
    job.lease_until = leases.renewed_lease(job, now=clock(), total=len(files))
    for done, file in enumerate(files, start=1):
        over = job.parts.exclude(state__in=OPEN_STATES).filter(source_name=taking.shown(file))
        if file.written_by == BY_MODELS:
            over = over.filter(kind=ImportKind.CAPTIONS)
        elif file.written_by:
            over = over.exclude(kind=ImportKind.CAPTIONS)
        if not over.exists():
            taking.take(file, series.get(file.series, [file]))
        job.lease_until = leases.renewed_lease(job, now=clock(), done=done)
    if job.parts.filter(state__in=OPEN_STATES).exists():
        # One of them asked to be started again.
        leases.held_row(job).update(lease_until=clock())
        return
    _drop_empty_collection(job)
    parts = job.parts.all()
    errors = [part.error for part in parts if part.state == JobState.FAILED]
    notice = begin_languages(job, wish, now=clock()) if wish.languages and not errors else ""
    if notice:
        job.options = job.options | {NOTICE: notice}
        leases.held_row(job).update(options=job.options)
    nothing = "" if parts else _("There is nothing in the files to import.")
    import_jobs.finish(job, now=clock(), error=errors[0] if errors and len(errors) == len(parts) else nothing)


def _with_collection(job: ImportJob, wish: ImportWish) -> ImportWish:
    """Make the collection that is wished for, unless an earlier start of the job did."""
    if not wish.new_collection:
        return wish
    made = Collection.objects.filter(pk=job.options.get("made_collection")).first()
    if made is None:
        made = create_collection(
            name=wish.new_collection, project=wish.project, is_shared=wish.project is None, by=wish.by
        )
        job.options = job.options | {"made_collection": made.pk}
        leases.held_row(job).update(options=job.options)
    return replace(wish, collection=made, new_collection="")


def _drop_empty_collection(job: ImportJob) -> None:
    made = Collection.objects.filter(pk=job.options.get("made_collection"), entries=None)
    for collection in made:
        collection.imports.update(collection=None)
        collection.delete()


@dataclass(frozen=True)
class _FileTaking:
    """Takes one file after the other as parts of `job`."""

    job: ImportJob
    previewed: Sequence[PreviewedFile]
    wish: ImportWish
    name_shown: Callable[[str], str]
    refused: Mapping[str, Sequence[LineError]]
    clock: Clock
    announce: imports.Announce

    def shown(self, file: RecognisedFile) -> str:
        """What a report calls a file."""
        return import_jobs.name_of(self.name_shown(file.path))

    def take(self, file: RecognisedFile, series: Sequence[RecognisedFile]) -> None:
        shared: dict[str, Any] = {"part_of": self.job, "clock": self.clock}
        if file.kind == FileKind.IMAGES:
            self._take_images(file, **shared)
        elif file.kind == FileKind.GAP_ITEMS:
            self._take_items(file, **shared)
        elif file.kind == FileKind.CANDIDATES:
            self._take_candidates(file, path=Path(self.shown(file)), project=self.wish.project, **shared)
        else:
            about = {"path": Path(self.shown(file)), "project": self.wish.project, "collection": self.wish.collection}
            if file.kind == FileKind.JUDGEMENTS:
                self._take_judgements(file, **shared, **about)
            else:
                self._take_captions(file, series, **shared, **about)

    def _take_images(self, file: RecognisedFile, **shared: Any) -> None:
        assert self.wish.collection is not None
        # What has captions is not reported as a file that is no image.
        beside = (one.file for one in self.previewed if one.file.inside == file.path)
        left_aside = {one.name_inside for one in beside if one.kind not in (FileKind.IMAGES, UNKNOWN_KIND)}
        imports.import_path(
            path=Path(file.path),
            collection=self.wish.collection,
            left_aside=left_aside,
            refused=self.refused.get(file.path, ()),
            named=self.shown(file),
            said=self.wish.said,
            announce=self.announce,
            **shared,
        )

    def _take_items(self, file: RecognisedFile, **shared: Any) -> None:
        wish = self.wish
        assert wish.project is not None
        longest = ItemSet._meta.get_field("name").max_length
        item_set = item_set_named(project=wish.project, name=name_of(file, wish)[:longest], by=wish.by)
        others = {one.file.kind: one.file for one in reversed(self.previewed)}
        images, vectors = others.get(FileKind.IMAGES), others.get(FileKind.VECTORS)
        import_items(
            path=Path(file.path),
            item_set=item_set,
            opened=file.part.opened if file.part else None,
            images=Path(images.path) if images else None,
            embeddings=vectors.part.opened if vectors and vectors.part else None,
            collections=[wish.collection] if wish.collection else (),
            choice=wish.choice,
            said=wish.said,
            named=self.shown(file),
            back=reverse("gapgame:item-set-show", args=[wish.project.slug, item_set.pk]),
            announce=self.announce,
            **shared,
        )
        remove_if_empty(item_set)

    def _take_candidates(self, file: RecognisedFile, **shared: Any) -> None:
        assert file.part is not None
        name = name_of(file, self.wish)[: CandidateList._meta.get_field("name").max_length]
        needs_licence = not self.wish.allows_no_licence
        try:
            import_candidates(name=name, needs_licence=needs_licence, opened=file.part.opened, **shared)
        except CandidatesRefusedError as refused:
            part = import_jobs.start_inline(kind=ImportKind.CANDIDATES, collection=None, **shared)
            import_jobs.finish(part, now=self.clock(), error=str(refused))

    def _take_judgements(self, file: RecognisedFile, **shared: Any) -> None:
        assert file.part is not None
        about: dict[str, Any] = {"language": file.assumed_language, "said": self.wish.said, "source": self.wish.source}
        import_judgements(opened=file.part.opened, **about, **shared)

    def _take_captions(self, file: RecognisedFile, series: Sequence[RecognisedFile], **shared: Any) -> None:
        assert file.part is not None
        wish = self.wish
        opened = partial(_sentences_as_lines, series) if file.sentences_of else file.part.opened
        if file.kind == CAPTIONS_BY_PEOPLE:
            if file.layout != LAYOUT_NAME or wish.said:
                opened = partial(_captions_by_image, file, opened, wish)
            import_rounds(source=wish.source, opened=opened, **shared)
            return
        shared |= {
            "language": None,
            "otherwise": wish.language or file.assumed_language,
            "said": wish.said,
            "opened": opened,
            "folder": "" if file.sentences_of else file.part.folder,
            "written_by": file.written_by,
        }
        if file.kind == REFERENCES:
            kind = ReferenceKind.TRANSLATED if wish.is_translated else ReferenceKind.IMPORTED
            import_references(**shared, name=name_of(file, wish), kind=kind, source=wish.source)
        else:
            import_captions(**shared, model=wish.model or file.assumed_model, differing=file.differing)


@contextmanager
def _sentences_as_lines(series: Sequence[RecognisedFile]) -> Iterator[IO[bytes]]:
    with tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY_BYTES) as lines:
        for one in series:
            assert one.part is not None
            with one.part.opened() as file:
                for row in sentence_rows(one.sentences_of, file):
                    texts = [given.value for given in row.captions] if isinstance(row, CaptionRow) else []
                    lines.write(json.dumps({"image": row.name, "captions": texts}).encode() + b"\n")
        lines.seek(0)
        yield lines


@contextmanager
def _captions_by_image(file: RecognisedFile, opened: imports.Opener, wish: ImportWish) -> Iterator[IO[bytes]]:
    """Captions of any layout in Crossmodal-3600's; no line may be wrong, as people's captions come in whole."""
    otherwise, folder = wish.language or file.assumed_language, file.part.folder if file.part else ""
    by_image: dict[str, dict[str, list[str]]] = {}
    with opened() as read, LineReader() as reader:
        about = {"folder": "" if file.sentences_of else folder, "written_by": file.written_by}
        for row in captions_of(read, said=wish.said, **about):
            if isinstance(row, LineError):
                reader.problems += [row] if not isinstance(row, LeftOutError) else []
                continue
            captions = by_image.setdefault(row.name, {})
            for given in row.captions:
                captions.setdefault(given.language or otherwise, []).extend(given_texts(given.value))
    with tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY_BYTES) as lines:
        for name, by_language in by_image.items():
            line = {KEY: name} | {tag: {"caption": texts} for tag, texts in by_language.items()}
            lines.write(json.dumps(line).encode() + b"\n")
        lines.seek(0)
        yield lines
