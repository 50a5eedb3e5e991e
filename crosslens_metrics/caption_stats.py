"""How long captions are and how many each image has, per language: the columns of the published table.

Words are what whitespace separates, characters are code points as stored, spaces included; nothing is normalised, and
captions that are the same count each. Files are read line by line, in the layout of Crossmodal-3600: an object with
`image/key` and, per language, an object with `caption`, a list. Other keys with a slash in them are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import floor
from typing import Any, BinaryIO

KEY = "image/key"
COLUMNS = (
    "language",
    "captions",
    "images_with_1",
    "images_with_2",
    "images_with_3_or_more",
    "mean_words",
    "mean_chars",
)
LONGEST_LINE = 2**24
"""Bytes. An image's captions in every language are some thousands."""

CUT_OFF = "ends in the midst of an image: the file was cut off here."


class MalformedFileError(Exception):
    """A line that is not as the layout has it."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(line, reason)
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class _Twice(ValueError):
    pass


@dataclass(frozen=True)
class ImageCaptions:
    line: int
    key: str
    captions: Mapping[str, Sequence[str]]
    """By the tag of the language, in the order of the file."""


@dataclass(kw_only=True)
class CaptionStatistics:
    """What is known of one language. Sums, so that lots of captions that share no image can be added."""

    captions: int = 0
    images_with_1: int = 0
    images_with_2: int = 0
    images_with_3_or_more: int = 0
    words: int = 0
    characters: int = 0

    def add(self, captions: Sequence[str]) -> None:
        """Count all captions of one image."""
        self.captions += len(captions)
        self.images_with_1 += len(captions) == 1
        self.images_with_2 += len(captions) == 2
        self.images_with_3_or_more += len(captions) >= 3
        for text in captions:
            words, characters = words_and_characters(text)
            self.words += words
            self.characters += characters

    @property
    def mean_words(self) -> float | None:
        """Words per caption, to one decimal; None where there is no caption."""
        return mean_to_one_decimal(self.words, self.captions)

    @property
    def mean_characters(self) -> float | None:
        return mean_to_one_decimal(self.characters, self.captions)

    def as_columns(self) -> dict[str, int | float | None]:
        """The columns of the published table, by its names."""
        columns: dict[str, int | float | None] = asdict(self)
        del columns["words"], columns["characters"]
        return columns | {"mean_words": self.mean_words, "mean_chars": self.mean_characters}


def words_and_characters(text: str) -> tuple[int, int]:
    return len(text.split()), len(text)


def mean_to_one_decimal(total: int, count: int) -> float | None:
    """Rounded from the exact quotient; half a tenth goes up."""
    return floor(Fraction(10 * total, count) + Fraction(1, 2)) / 10 if count else None


def statistics_of(images: Iterable[ImageCaptions]) -> dict[str, CaptionStatistics]:
    """By the tag of the language, in its order. A language that has lists but no caption is there with zeros."""
    found: dict[str, CaptionStatistics] = {}
    for image in images:
        for tag, captions in image.captions.items():
            found.setdefault(tag, CaptionStatistics()).add(captions)
    return dict(sorted(found.items()))


def read_captions(file: BinaryIO) -> Iterator[ImageCaptions]:
    """The images of a file, one at a time.

    Raises
    ------
    MalformedFileError
        At the first line that is none of the layout, that is cut off, or that has an image again.
    """
    seen: dict[str, int] = {}
    line = 0
    while raw := file.readline(LONGEST_LINE + 1):
        line += 1
        image = read_line(raw, line)
        before = seen.setdefault(image.key, line)
        if before != line:
            raise MalformedFileError(line, f"the image {image.key!r} is in line {before} already.")
        yield image
    if not line:
        raise MalformedFileError(1, "the file is empty.")


def read_line(raw: bytes, line: int) -> ImageCaptions:
    """The image of one line.

    Raises
    ------
    MalformedFileError
    """
    if len(raw) > LONGEST_LINE:
        raise MalformedFileError(line, f"longer than {LONGEST_LINE // 2**20} MiB; each image needs a line of its own.")
    try:
        row = json.loads(raw.decode("utf-8-sig" if line == 1 else "utf-8"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        # The last letter of the file, of which some bytes are there.
        if error.end == len(raw) and error.reason == "unexpected end of data":
            raise MalformedFileError(line, CUT_OFF) from error
        raise MalformedFileError(line, f"byte {error.start + 1} is not UTF-8.") from error
    except _Twice as error:
        raise MalformedFileError(line, f"{error.args[0]!r} stands twice in one object.") from error
    except RecursionError as error:
        raise MalformedFileError(line, "nested too deeply to be a line of captions.") from error
    except json.JSONDecodeError as error:
        if not raw.strip():
            raise MalformedFileError(line, "empty; each line is one image.") from error
        if not raw.endswith(b"\n"):
            raise MalformedFileError(line, CUT_OFF) from error
        raise MalformedFileError(line, f"not JSON: {error.msg} at character {error.colno}.") from error
    except ValueError as error:
        raise MalformedFileError(line, f"not JSON that can be read: {error}.") from error
    if not isinstance(row, dict):
        raise MalformedFileError(line, f"an object with {KEY!r} is needed, not {_kind(row)}.")
    key = row.pop(KEY, None)
    if not isinstance(key, str) or not key:
        raise MalformedFileError(line, f"{KEY!r} is missing or no text.")
    if _has_half_of_a_pair(key):
        raise MalformedFileError(line, f"{KEY!r} holds half of a surrogate pair.")
    captions = {tag: _captions(tag, value, line) for tag, value in row.items() if "/" not in tag}
    return ImageCaptions(line, key, captions)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found


def _captions(tag: str, value: object, line: int) -> list[str]:
    captions = value.get("caption") if isinstance(value, dict) else None
    if not isinstance(captions, list):
        raise MalformedFileError(line, f'{tag!r} has no list of captions; {{"caption": [...]}} is needed.')
    for number, text in enumerate(captions, 1):
        if not isinstance(text, str):
            raise MalformedFileError(line, f"caption {number} of {tag!r} is {_kind(text)}, not a text.")
        if not text.strip():
            raise MalformedFileError(line, f"caption {number} of {tag!r} is empty.")
        if _has_half_of_a_pair(text):
            raise MalformedFileError(line, f"caption {number} of {tag!r} holds half of a surrogate pair.")
    return captions


def _has_half_of_a_pair(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
