"""Captions in the layout of Crossmodal-3600, letter for letter: an object for each image, one on a line.

An object has `image/key` and, per language, an object with `caption`, a list. Other keys with a slash are passed over.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from crosslens_metrics.formats.names import normalised_name
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag

KEY = "image/key"
MAX_LINE_BYTES = 2**24
"""Bytes. An image's captions in every language are some thousands."""

CUT_OFF = "ends in the midst of an image: the file was cut off here."


class _RepeatedImageError(ValueError):
    pass


@dataclass(frozen=True)
class ImageCaptions:
    line: int
    key: str
    captions: Mapping[str, Sequence[str]]
    """By the tag of the language as it is written, in the order of the file."""

    def by_language(self) -> dict[str, list[str]]:
        """The captions by the tag that languages are stored under: those of `iw` and `he` are of one language.

        Raises
        ------
        LineError
        """
        captions: dict[str, list[str]] = {}
        for written, texts in self.captions.items():
            try:
                captions.setdefault(canonical_tag(written), []).extend(texts)
            except MalformedTagError as error:
                raise LineError(str(error), number=self.line) from error
        return captions


def read_captions(file: BinaryIO) -> Iterator[ImageCaptions]:
    """The images of a file, one at a time.

    Raises
    ------
    LineError
        At the first line that is none of the layout, that is cut off, or that has an image again.
    """
    seen: dict[str, int] = {}
    line = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        line += 1
        image = read_line(raw, line)
        before = seen.setdefault(normalised_name(image.key), line)
        if before != line:
            raise LineError(f"the image {image.key!r} is in line {before} already.", number=line)
        yield image
    if not line:
        raise LineError("the file is empty.", number=1)


def read_line(raw: bytes, line: int) -> ImageCaptions:
    """The image of one line.

    Raises
    ------
    LineError
    """
    if len(raw) > MAX_LINE_BYTES:
        raise LineError(f"longer than {MAX_LINE_BYTES // 2**20} MiB; each image needs a line of its own.", number=line)
    try:
        row = json.loads(raw.decode("utf-8-sig" if line == 1 else "utf-8"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        # The last letter of the file, of which some bytes are there.
        if error.end == len(raw) and error.reason == "unexpected end of data":
            raise LineError(CUT_OFF, number=line) from error
        raise LineError(f"byte {error.start + 1} is not UTF-8.", number=line) from error
    except _RepeatedImageError as error:
        raise LineError(f"{error.args[0]!r} stands twice in one object.", number=line) from error
    except RecursionError as error:
        raise LineError("nested too deeply to be a line of captions.", number=line) from error
    except json.JSONDecodeError as error:
        if not raw.strip():
            raise LineError("empty; each line is one image.", number=line) from error
        if not raw.endswith(b"\n"):
            raise LineError(CUT_OFF, number=line) from error
        raise LineError(f"not JSON: {error.msg} at character {error.colno}.", number=line) from error
    except ValueError as error:
        raise LineError(f"not JSON that can be read: {error}.", number=line) from error
    if not isinstance(row, dict):
        raise LineError(f"an object with {KEY!r} is needed, not {_kind(row)}.", number=line)
    key = row.pop(KEY, None)
    if not isinstance(key, str) or not key:
        raise LineError(f"{KEY!r} is missing or no text.", number=line)
    if _has_half_of_a_pair(key):
        raise LineError(f"{KEY!r} holds half of a surrogate pair.", number=line)
    captions = {tag: _captions(tag, value, line) for tag, value in row.items() if "/" not in tag}
    return ImageCaptions(line, key, captions)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise _RepeatedImageError(next(name for name, count in counts.items() if count > 1))
    return fields


def _captions(tag: str, value: object, line: int) -> list[str]:
    captions = value.get("caption") if isinstance(value, dict) else None
    if not isinstance(captions, list):
        raise LineError(f'{tag!r} has no list of captions; {{"caption": [...]}} is needed.', number=line)
    for number, text in enumerate(captions, 1):
        if not isinstance(text, str):
            raise LineError(f"caption {number} of {tag!r} is {_kind(text)}, not a text.", number=line)
        if not text.strip():
            raise LineError(f"caption {number} of {tag!r} is empty.", number=line)
        if _has_half_of_a_pair(text):
            raise LineError(f"caption {number} of {tag!r} holds half of a surrogate pair.", number=line)
    return captions


def _has_half_of_a_pair(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
