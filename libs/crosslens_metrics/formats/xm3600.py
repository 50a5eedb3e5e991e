"""Captions in the layout of Crossmodal-3600, letter for letter: an object for each image, one on a line.

An object has `image/key` and, per language, an object with `caption`, a list. Other keys with a slash are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from crosslens_metrics.formats.names import normalised_name
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import json_records, read_record
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag

KEY, LAYOUT_NAME = "image/key", "Crossmodal-3600"


@dataclass(frozen=True)
class ImageCaptions:
    """`number` is the line, from 1."""

    number: int
    key: str
    captions: Mapping[str, Sequence[str]]
    """By the tag of the language as it is written, in the order of the file."""

    def by_language(self) -> dict[str, list[str]]:
        """The captions by the tag that languages are stored under: those of `iw` and `he` are of one language.

        Raises LineError.
        """
        captions: dict[str, list[str]] = {}
        for written, texts in self.captions.items():
            try:
                captions.setdefault(canonical_tag(written), []).extend(texts)
            except MalformedTagError as error:
                raise LineError(str(error), number=self.number) from error
        return captions


def read_captions(file: IO[bytes]) -> Iterator[ImageCaptions]:
    """The images of a file, one at a time.

    Raises FileRefusedError where nothing in the file can be read. Raises LineError at the first line that is none of
    the layout, that is cut off, or that has an image again.
    """
    seen: dict[str, int] = {}
    for image in images_in(file):
        if isinstance(image, LineError):
            raise image
        before = seen.setdefault(normalised_name(image.key), image.number)
        if before != image.number:
            raise LineError(f"the image {image.key!r} is in line {before} already.", number=image.number)
        yield image


def images_in(file: IO[bytes]) -> Iterator[ImageCaptions | LineError]:
    """The images of a file, one at a time, with what is wrong where a line is none of the layout.

    Raises FileRefusedError where nothing in the file can be read.
    """
    for record in json_records(file):
        yield read_record(record, partial(_image, record.number))


def _image(number: int, row: Any) -> ImageCaptions:
    if not isinstance(row, dict):
        raise LineError(f"an object with {KEY!r} is needed, not {_kind(row)}.")
    key = row.pop(KEY, None)
    if not isinstance(key, str) or not key:
        raise LineError(f"{KEY!r} is missing or no text.")
    if _has_half_of_a_pair(key):
        raise LineError(f"{KEY!r} holds half of a surrogate pair.")
    return ImageCaptions(number, key, {tag: _captions(tag, value) for tag, value in row.items() if "/" not in tag})


def _captions(tag: str, value: object) -> list[str]:
    captions = value.get("caption") if isinstance(value, dict) else None
    if not isinstance(captions, list):
        raise LineError(f'{tag!r} has no list of captions; {{"caption": [...]}} is needed.')
    for number, text in enumerate(captions, 1):
        if not isinstance(text, str):
            raise LineError(f"caption {number} of {tag!r} is {_kind(text)}, not a text.")
        if not text.strip():
            raise LineError(f"caption {number} of {tag!r} is empty.")
        if _has_half_of_a_pair(text):
            raise LineError(f"caption {number} of {tag!r} holds half of a surrogate pair.")
    return captions


def _has_half_of_a_pair(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
