"""Captions from files of other tools, to score them: as they stand, all of a file or none.

All problems of a file are collected, so that it can be put right in one go; a file with problems gives no figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from crosslens_metrics.formats.caption_rows import CaptionRow, given_texts, language_tag
from crosslens_metrics.formats.layouts import layout_of
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.names import shortened_name
from crosslens_metrics.formats.opening import opened_text
from crosslens_metrics.formats.problems import LeftOutError, LineError
from crosslens_metrics.formats.records import is_text
from crosslens_metrics.messages import gettext as _

T = TypeVar("T")


@dataclass(frozen=True)
class CaptionFile(Generic[T]):
    """Captions by image, and the language that the file says they are in, if it names one.

    `other_names` has the image by each other name that the file gives it.
    """

    captions: dict[str, T]
    language: str | None
    other_names: dict[str, str]


@dataclass(frozen=True)
class _CaptionEntry:
    """What one place of a file says of an image. A `closed` one holds all of its captions."""

    number: int
    image: str
    captions: list[str]
    closed: bool


def read_candidates(file: IO[bytes], *, name: str, language: str | None = None) -> CaptionFile[str]:
    """One caption for each image, which may be empty.

    - `file`: of any layout that `layout_of` knows.
    - `name`: of the file, for messages.
    - `language`: tag of the captions to read, where there are several.
    - returned: by image.

    Raises FileProblemsError.
    """
    with _CaptionReader(name, language) as reading:
        for entry in reading.entries(file):
            if len(entry.captions) != 1:
                reason = f"{len(entry.captions)} candidates for image {shortened_name(entry.image)}: give one."
                reading.refuse(reason, number=entry.number)
            elif entry.image in reading.numbers:
                reading.refuse_twice(entry)
            else:
                reading.take(entry)
        reading.check_language()
    only = {image: captions[0] for image, captions in reading.captions.items()}
    return CaptionFile(only, reading.named_language, reading.other_names)


def read_references(file: IO[bytes], *, name: str, language: str | None = None) -> CaptionFile[list[str]]:
    """All captions of each image, in the order of the file. None is empty.

    An image may come on several lines with one `caption` each, as COCO has it, but not twice with all its captions.
    Takes and raises what `read_candidates` does.
    """
    with _CaptionReader(name, language) as reading:
        for entry in reading.entries(file):
            if entry.image in reading.numbers and (entry.closed or entry.image in reading.closed):
                reading.refuse_twice(entry)
            elif not entry.captions:
                reading.refuse(f"Image {shortened_name(entry.image)} has no reference.", number=entry.number)
            elif not all(caption.strip() for caption in entry.captions):
                reason = f"A reference of image {shortened_name(entry.image)} is empty. Fill it in or remove it."
                reading.refuse(reason, number=entry.number)
            else:
                reading.take(entry)
        reading.check_language()
    return CaptionFile(reading.captions, reading.named_language, reading.other_names)


def candidates_in(path: Path, *, language: str | None = None) -> CaptionFile[str]:
    """As `read_candidates`, from a path."""
    with LineReader(path), opened_text(path) as file:
        return read_candidates(file, name=str(path), language=language)


def references_in(path: Path, *, language: str | None = None) -> CaptionFile[list[str]]:
    """As `read_references`, from a path."""
    with LineReader(path), opened_text(path) as file:
        return read_references(file, name=str(path), language=language)


class _CaptionReader(LineReader):
    """One file while it is read: what was taken, and what was wrong."""

    def __init__(self, name: str, language: str | None) -> None:
        super().__init__(name)
        self.language = language
        self.captions: dict[str, list[str]] = {}
        self.other_names: dict[str, str] = {}
        self.numbers: dict[str, int] = {}
        self.closed: set[str] = set()
        self._languages: dict[str, None] = {}

    def entries(self, file: IO[bytes]) -> Iterator[_CaptionEntry]:
        layout = layout_of(file)
        self.is_list = layout.has_entries
        for row in layout.captions(file):
            if isinstance(row, LineError):
                self.problems += [row] if not isinstance(row, LeftOutError) else []
                continue
            with self.line(row.number):
                yield from self._of_row(row)

    def take(self, entry: _CaptionEntry) -> None:
        self.captions.setdefault(entry.image, []).extend(entry.captions)
        self.numbers.setdefault(entry.image, entry.number)
        if entry.closed:
            self.closed.add(entry.image)

    def refuse_twice(self, entry: _CaptionEntry) -> None:
        there = f"{'entry' if self.is_list else 'line'} {self.numbers[entry.image]}"
        reason = f"Image {shortened_name(entry.image)} is there twice; it came first in {there}."
        self.refuse(reason, number=entry.number)

    @property
    def named_language(self) -> str | None:
        """The language of what was taken, as far as the file names it."""
        return (self.language or next(iter(self._languages))) if self._languages else None

    def check_language(self) -> None:
        """See that something was taken, in one language."""
        if self.language is None and len(self._languages) > 1:
            self.refuse(f"The file has captions in {', '.join(sorted(self._languages))}. Choose one by --language.")
        elif not self.captions and not self.problems:
            others = f" in {self.language}; it has: {', '.join(sorted(self._languages))}" if self._languages else ""
            self.refuse(f"The file holds no captions{others}.")

    def _of_row(self, row: CaptionRow) -> Iterator[_CaptionEntry]:
        # COCO's results name images by their number, which comes last.
        *others, image = row.names
        self.other_names |= dict.fromkeys(others, image)
        said = [None if given.language is None else language_tag(given.language, image) for given in row.captions]
        self._languages |= dict.fromkeys(tag for tag in said if tag is not None)
        wanted = [
            given for given, tag in zip(row.captions, said, strict=True) if tag is None or self.language in (None, tag)
        ]
        if not wanted and len(row.captions) != 1:
            listed = ", ".join(filter(None, said)) or "none"
            where = f" in {self.language}; it has: {listed}" if said else ""
            raise LineError(f"Image {shortened_name(image)} has no captions{where}.")
        for given in wanted[:1]:
            is_closed = not isinstance(given.value, str)
            yield _CaptionEntry(row.number, image, [_caption(text) for text in given_texts(given.value)], is_closed)


def _caption(given: Any) -> str:
    if not isinstance(given, str):
        raise LineError(_("A caption is not text."))
    if not is_text(given):
        raise LineError(_("A caption holds characters that are not valid."))
    return given
