"""Captions from files of other tools, found out by what is in them: COCO, JSON Lines, Crossmodal-3600.

All problems of a file are collected, so that it can be put right in one go; a file with problems gives no figures.
"""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from crosslens_metrics.formats.limits import MAX_LINE_BYTES
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.names import count_of, image_name, names_of, shortened_name
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, is_text, malformed, no_number, not_utf8
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag, language_named_in
from crosslens_metrics.messages import gettext as _

XM3600_KEY = "image/key"
IMAGE_FIELDS = ("image", "image_id", XM3600_KEY)
PEEK_BYTES = 1 << 16
T = TypeVar("T")


@dataclass(frozen=True)
class CaptionFile(Generic[T]):
    """Captions by image, and the language that the file says they are in, if it names one."""

    captions: dict[str, T]
    language: str | None


@dataclass(frozen=True)
class _CaptionEntry:
    """What one place of a file says of an image. A `closed` one holds all of its captions."""

    place: str
    image: str
    captions: list[str]
    closed: bool


def read_candidates(file: IO[bytes], *, name: str, language: str | None = None) -> CaptionFile[str]:
    """One caption for each image, which may be empty.

    Parameters
    ----------
    file : binary file
        COCO, JSON Lines or Crossmodal-3600, found out by what is in it.
    name : str
        Of the file, for messages.
    language : str, optional
        Tag of the captions to read, where there are several.

    Returns
    -------
    CaptionFile of str
        By image.

    Raises
    ------
    FileProblemsError
    """
    with _CaptionReader(name, language) as reading:
        for entry in reading.entries(file):
            if len(entry.captions) != 1:
                reason = f"{len(entry.captions)} candidates for image {shortened_name(entry.image)}: give one."
                reading.refuse(reason, place=entry.place)
            elif entry.image in reading.places:
                reading.refuse_twice(entry)
            else:
                reading.take(entry)
        reading.check_language()
    return CaptionFile({image: captions[0] for image, captions in reading.captions.items()}, reading.named_language)


def read_references(file: IO[bytes], *, name: str, language: str | None = None) -> CaptionFile[list[str]]:
    """All captions of each image, in the order of the file. None is empty.

    An image may come on several lines with one `caption` each, as COCO has it, but not twice with all its captions.
    Takes and raises what `read_candidates` does.
    """
    with _CaptionReader(name, language) as reading:
        for entry in reading.entries(file):
            if entry.image in reading.places and (entry.closed or entry.image in reading.closed):
                reading.refuse_twice(entry)
            elif not entry.captions:
                reading.refuse(f"Image {shortened_name(entry.image)} has no reference.", place=entry.place)
            elif not all(caption.strip() for caption in entry.captions):
                reason = f"A reference of image {shortened_name(entry.image)} is empty. Fill it in or remove it."
                reading.refuse(reason, place=entry.place)
            else:
                reading.take(entry)
        reading.check_language()
    return CaptionFile(reading.captions, reading.named_language)


def candidates_in(path: Path, *, language: str | None = None) -> CaptionFile[str]:
    """As `read_candidates`, from a path."""
    with LineReader(path), path.open("rb") as file:
        return read_candidates(file, name=str(path), language=language)


def references_in(path: Path, *, language: str | None = None) -> CaptionFile[list[str]]:
    """As `read_references`, from a path."""
    with LineReader(path), path.open("rb") as file:
        return read_references(file, name=str(path), language=language)


class _CaptionReader(LineReader):
    """One file while it is read: what was taken, and what was wrong."""

    def __init__(self, name: str, language: str | None) -> None:
        super().__init__(name)
        self.language = language
        self.captions: dict[str, list[str]] = {}
        self.places: dict[str, str] = {}
        self.closed: set[str] = set()
        self._languages: dict[str, None] = {}
        self._tags: dict[str, str] = {}

    def entries(self, file: IO[bytes]) -> Iterator[_CaptionEntry]:
        if _is_one_object(file):
            yield from self._of_object(file)
            return
        for record in self.records(file, is_csv=False):
            yield from self._checked(f"{'entry' if self.is_list else 'line'} {record.number}", record)

    def take(self, entry: _CaptionEntry) -> None:
        self.captions.setdefault(entry.image, []).extend(entry.captions)
        self.places.setdefault(entry.image, entry.place)
        if entry.closed:
            self.closed.add(entry.image)

    def refuse_twice(self, entry: _CaptionEntry) -> None:
        there = self.places[entry.image]
        self.refuse(f"Image {shortened_name(entry.image)} is there twice; it came first in {there}.", place=entry.place)

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

    def _checked(self, place: str, record: LineRecord) -> Iterator[_CaptionEntry]:
        with self.line(record, place=place):
            yield from self._of_row(place, record.value)

    def _of_row(self, place: str, row: Any) -> Iterator[_CaptionEntry]:
        if not isinstance(row, dict):
            raise LineError('Not an object. Write each caption as {"image": …, "caption": …}.')
        field_name = next((name for name in IMAGE_FIELDS if name in row), None)
        if field_name is None:
            raise LineError("Names no image: give its name as “image”.")
        image = _image(row[field_name], field_name)
        if field_name == XM3600_KEY:
            yield from self._of_xm3600(place, image, row)
            return
        said = language_named_in(row)
        if said is not None and not self._is_wanted(said):
            return
        if ("caption" in row) == ("captions" in row):
            raise LineError(f"Image {shortened_name(image)} needs either “caption” or “captions”.")
        if "caption" in row:
            yield _CaptionEntry(place, image, [_caption(row["caption"])], closed=False)
        else:
            yield _CaptionEntry(place, image, _captions(row["captions"], "captions"), closed=True)

    def _of_xm3600(self, place: str, image: str, row: dict[str, Any]) -> Iterator[_CaptionEntry]:
        there = {key: value for key, value in row.items() if isinstance(value, dict) and "caption" in value}
        wanted = [key for key in there if self._is_wanted(key)]
        if self.language is not None and not wanted:
            listed = ", ".join(there) or "none"
            raise LineError(f"Image {shortened_name(image)} has no captions in {self.language}; it has: {listed}.")
        for key in wanted[:1]:
            yield _CaptionEntry(place, image, _captions(there[key]["caption"], f"{key} caption"), closed=True)

    def _is_wanted(self, tag: Any) -> bool:
        if not isinstance(tag, str):
            raise LineError("“language” must be text.")
        if tag not in self._tags:
            try:
                self._tags[tag] = canonical_tag(tag)
            except MalformedTagError as error:
                raise LineError(str(error)) from error
            self._languages[self._tags[tag]] = None
        return self.language is None or self._tags[tag] == self.language

    def _of_object(self, file: IO[bytes]) -> Iterator[_CaptionEntry]:
        content = _one_object(file)
        if "annotations" in content and not _is_captions(content["annotations"]):
            yield from self._of_annotations(content)
            return
        if any(map(has_sentences, entries if isinstance(entries := content.get("images"), list) else [])):
            raise FileRefusedError(sentences_are_not_read())
        for image, captions in content.items():
            place = f"image {shortened_name(image)}"
            with self.line(0, place=place):
                given = [captions] if isinstance(captions, str) else captions
                yield _CaptionEntry(place, _image(image, "image"), _captions(given, "value"), closed=True)

    def _of_annotations(self, content: dict[str, Any]) -> Iterator[_CaptionEntry]:
        annotations, images = content["annotations"], content.get("images", [])
        if not isinstance(annotations, list) or not isinstance(images, list):
            raise FileRefusedError("“images” and “annotations” are not lists, as COCO has them.")
        captioned = set()
        for number, annotation in enumerate(annotations, start=1):
            for entry in self._checked(f"annotation {number}", LineRecord(number, annotation)):
                captioned.add(entry.image)
                yield entry
        listed = [image_name(image["id"]) for image in images if isinstance(image, dict) and "id" in image]
        without = [image for image in dict.fromkeys(filter(None, listed)) if image not in captioned]
        if without:
            self.refuse(f"{count_of(without)} listed under “images” without a caption: {names_of(without)}.")


def has_sentences(image: Any) -> bool:
    """Whether an entry under “images” is of Karpathy's layout."""
    return isinstance(image, dict) and "sentences" in image


def sentences_are_not_read() -> str:
    return _(
        "The file is in Karpathy's layout, with captions under “sentences”, which is not read. Write them as JSON "
        "Lines: one object on each line, with “image” and “captions”."
    )


def _is_one_object(file: IO[bytes]) -> bool:
    """Whether the file is one object for all images, and not one for each."""
    file.seek(0)
    is_object = file.read(PEEK_BYTES).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
    file.seek(0)
    if not is_object:
        return False
    line = file.readline()
    while line and not line.removeprefix(codecs.BOM_UTF8).strip():
        line = file.readline()
    follows = any(rest.strip() for rest in file)
    file.seek(0)
    if not follows and len(line) > MAX_LINE_BYTES:
        return True
    try:
        first = json.loads(line.removeprefix(codecs.BOM_UTF8))
    except (ValueError, RecursionError):
        # An object over several lines begins with a piece of one; a broken line is a whole one that is wrong.
        return not follows or not line.rstrip().endswith(b"}")
    named = next((first[name] for name in IMAGE_FIELDS if name in first), None)
    return not follows and (named is None or _is_captions(named))


def _one_object(file: IO[bytes]) -> dict[str, Any]:
    """The object that the file is.

    Raises
    ------
    FileRefusedError
    """
    file.seek(0)
    try:
        content = json.loads(file.read().decode("utf-8-sig"), parse_constant=no_number, object_pairs_hook=_named_once)
    except UnicodeDecodeError as error:
        raise FileRefusedError(not_utf8()) from error
    except json.JSONDecodeError as error:
        raise FileRefusedError(
            f"Not valid JSON ({error.msg}, line {error.lineno}, character {error.colno})."
        ) from error
    except (ValueError, RecursionError) as error:
        raise FileRefusedError(malformed(error)) from error
    assert isinstance(content, dict)
    return content


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = shortened_name(Counter(name for name, _value in pairs).most_common(1)[0][0])
        raise FileRefusedError(f"{twice} is there twice in one object. Give each image once, with all its captions.")
    return value


def _is_captions(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _image(given: Any, field_name: str) -> str:
    name = image_name(given)
    if name is None or not is_text(name):
        raise LineError(f"“{field_name}” is neither a text nor a whole number.")
    return name


def _captions(given: Any, field_name: str) -> list[str]:
    if not isinstance(given, list):
        raise LineError(f"“{field_name}” is not a list of captions.")
    return [_caption(item) for item in given]


def _caption(given: Any) -> str:
    if not isinstance(given, str):
        raise LineError("A caption is not text.")
    if not is_text(given):
        raise LineError("A caption holds characters that are not valid.")
    return given
