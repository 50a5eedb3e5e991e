"""Import files of any layout: recognise them, preview what they hold, and hand each to the import of its kind."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from core.images.models import Collection, ImportJob
from core.images.selectors.filters import images_of_names
from core.images.services import imports
from core.images.services.import_jobs import Clock
from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics.formats.caption_rows import CaptionRow
from crosslens_metrics.formats.layouts import FileKind
from crosslens_metrics.formats.opening import KEPT_IN_MEMORY_BYTES
from crosslens_metrics.formats.parts import FilePart
from crosslens_metrics.formats.recognition import (
    MODEL_CAPTIONS,
    REFERENCES,
    UNKNOWN_KIND,
    UNKNOWN_LANGUAGE,
    RecognisedFile,
    RecognisedFiles,
    model_in_name,
    recognise,
    sentence_rows,
)
from research.inference.services.captions import import_path as import_captions
from research.scoring.models import ReferenceKind
from research.scoring.services.reference_imports import import_path as import_references

NOTHING_TO_TAKE = (FileKind.NAMES, FileKind.SENTENCES)


@dataclass(frozen=True)
class ImportWish:
    """What somebody says of the files: whose they become, and what the files do not say themselves.

    `kind` stands for the kind of captions where that is not clear, `name` is the references', and `said` has the names
    of columns by the part of a line that they hold.
    """

    project: Project | None = None
    collection: Collection | None = None
    creates_collection: bool = False
    language: str = ""
    model: str = ""
    kind: str = ""
    name: str = ""
    is_translated: bool = False
    source: str = ""
    said: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PreviewedFile:
    """A file, and how many of the images that it names are known."""

    file: RecognisedFile
    matched: int

    @property
    def is_recognised(self) -> bool:
        return self.file.kind != UNKNOWN_KIND

    def as_json(self) -> dict[str, Any]:
        file = self.file
        return {
            "path": file.path,
            "kind": str(file.kind),
            "format": file.layout,
            "models": sorted(file.models),
            "languages": dict(sorted(file.languages.items())),
            "images": {"matched": self.matched, "unknown": len(file.images) - self.matched},
            "problems": [
                {"kind": kind, "count": count, "example": example} for kind, (count, example) in file.problems.items()
            ],
        }


class ImportWishError(Exception):
    """Something has to be said before the files can be imported; the message says what."""


def preview(paths: Sequence[Path], wish: ImportWish) -> list[PreviewedFile]:
    """Look through files and store nothing.

    Images are matched with those of the wish's collection; without one, with those that come with the files.
    """
    seen = recognise(paths, said=wish.said, language=wish.language, model=wish.model)
    kind = wish.kind or (MODEL_CAPTIONS if wish.model else REFERENCES if wish.name else "")
    for file in seen.files:
        if file.kind == FileKind.CAPTIONS or (wish.kind and file.kind in (REFERENCES, MODEL_CAPTIONS)):
            file.kind = kind or file.kind
        if wish.project or wish.collection:
            known = set(Language.objects.filter(pk__in=file.languages).values_list("pk", flat=True))
            for tag in sorted(set(file.languages) - known - {UNKNOWN_LANGUAGE}):
                reason = f"There is no language {tag} on this installation. Add it with add_language first."
                file.add_problem(reason, file.path, file.languages[tag])
    return [PreviewedFile(file, _matched(file, seen, wish)) for file in seen.files]


def _matched(file: RecognisedFile, seen: RecognisedFiles, wish: ImportWish) -> int:
    if wish.collection is None or file.kind == FileKind.IMAGES:
        return seen.matched(file)
    known = images_of_names(file.images, wish.collection)
    came = seen.matched(file) if seen.image_names else 0
    return max(came, sum(bool(named.images) for named in known.values()))


def check(previewed: Sequence[PreviewedFile], wish: ImportWish) -> None:
    """See that all is said that the import needs.

    Raises
    ------
    ImportWishError
        What has to be said, or which file cannot be imported.
    """
    taken: dict[tuple[str, str, tuple[str, ...]], str] = {}
    for one in previewed:
        if one.file.kind == UNKNOWN_KIND and one.file.inside:
            continue
        _check(one.file, wish)
        if one.file.kind == REFERENCES:
            name = _name_of_references(one.file, wish)
            for key in ((name, tag, image) for tag in one.file.languages for image in one.file.images):
                if (other := taken.setdefault(key, one.file.path)) != one.file.path:
                    raise ImportWishError(
                        f"{other} and {one.file.path} both have captions of {key[2][0]} in {key[1]} for the references "
                        f"“{name}”, and the second would replace the first. Make one file of them, or import them by "
                        "two commands under two names."
                    )
    if wish.creates_collection and not any(one.file.kind == FileKind.IMAGES for one in previewed):
        raise ImportWishError("There is no such collection, and none of the files has images to make one of.")


def take(
    previewed: Sequence[PreviewedFile], wish: ImportWish, *, clock: Clock, announce: imports.Announce
) -> Iterator[ImportJob]:
    """Import the files that `check` passed one after the other, images first."""
    files = [one.file for one in previewed if one.file.kind not in (*NOTHING_TO_TAKE, UNKNOWN_KIND)]
    for file in files:
        if file.kind == FileKind.IMAGES and not file.inside:
            assert wish.collection is not None
            # What has captions is not reported as a file that is no image.
            inside = (one.file for one in previewed if one.file.inside == file.path)
            left_aside = {
                one.path.removeprefix(f"{file.path}/")
                for one in inside
                if one.kind not in (FileKind.IMAGES, UNKNOWN_KIND)
            }
            yield imports.import_path(
                path=Path(file.path), collection=wish.collection, left_aside=left_aside, clock=clock, announce=announce
            )
    for file in files:
        if file.kind != FileKind.IMAGES:
            yield _take_captions(file, wish, clock=clock)


def _check(file: RecognisedFile, wish: ImportWish) -> None:
    if file.kind == UNKNOWN_KIND:
        raise ImportWishError(f"{file.path}: {next(iter(file.problems), '')}")
    if file.kind == FileKind.CAPTIONS:
        how = "Name the model by --model, or say --as references"
        raise ImportWishError(f"{file.path} does not say who wrote its captions. {how}.")
    if file.kind == FileKind.JUDGEMENTS:
        raise ImportWishError(f"{file.path} has judgements. `manage.py sxs_report` reads them; they are not stored.")
    if file.kind == FileKind.GAP_ITEMS:
        raise ImportWishError(f"{file.path} has items of the game. `manage.py import_gap_items` takes them.")
    if not (wish.collection or wish.creates_collection) and file.kind in (FileKind.IMAGES, REFERENCES):
        raise ImportWishError(f"{file.path} needs --collection, in which its images are.")
    if wish.project is None and file.kind == REFERENCES:
        raise ImportWishError(f"{file.path} has references, which belong to a project. Name it by --project.")
    if UNKNOWN_LANGUAGE in file.languages:
        raise ImportWishError(f"{file.path} does not say which language its captions are in. Say so by --language.")


def _name_of_references(file: RecognisedFile, wish: ImportWish) -> str:
    return wish.name or model_in_name(file.path)


def _take_captions(file: RecognisedFile, wish: ImportWish, *, clock: Clock) -> ImportJob:
    assert file.part is not None
    tag = wish.language or file.assumed_language
    opened = partial(_sentences_as_lines, file.part, file.sentences_of) if file.sentences_of else file.part.opened
    shared: dict[str, Any] = {
        "path": Path(file.path),
        "project": wish.project,
        "collection": wish.collection,
        "language": None,
        "otherwise": tag,
        "said": wish.said,
        "opened": opened,
        "clock": clock,
    }
    if file.kind == REFERENCES:
        name = _name_of_references(file, wish)
        kind = ReferenceKind.TRANSLATED if wish.is_translated else ReferenceKind.IMPORTED
        return import_references(**shared, name=name, kind=kind, source=wish.source)
    return import_captions(**shared, model=wish.model or file.assumed_model)


@contextmanager
def _sentences_as_lines(part: FilePart, names: Sequence[str]) -> Iterator[IO[bytes]]:
    with part.opened() as file, tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY_BYTES) as lines:
        for row in sentence_rows(names, file):
            texts = [given.value for given in row.captions] if isinstance(row, CaptionRow) else []
            lines.write(json.dumps({"image": row.name, "captions": texts}).encode() + b"\n")
        lines.seek(0)
        yield lines
