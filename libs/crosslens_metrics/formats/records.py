"""Read lists that people made: broken records are reported by number, and the others are read."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, NoReturn, TypeVar

from crosslens_metrics.formats import limits
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.messages import gettext as _

READ_BYTES = 1 << 16
BLANKS = " \t\r\n"
OTHER_KINDS = {
    b"PK\x03\x04": "ZIP (.zip, .xlsx, .ods, .npz)",
    b"PK\x05\x06": "ZIP",
    b"\x1f\x8b": "gzip (.gz)",
    b"BZh": "bzip2 (.bz2)",
    b"\xfd7zXZ\0": "xz",
    b"\xd0\xcf\x11\xe0": "Excel 97 (.xls)",
    b"PAR1": "Parquet",
    b"%PDF-": "PDF",
    b"\x89PNG": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"SQLite format 3\0": "SQLite",
}
"""What files begin with that people take for the text in them."""
CELLS = re.compile(rb"[^\s{\[][^\n]*[,;\t|][^\n]*\n")
T = TypeVar("T")


@dataclass(frozen=True)
class LineRecord:
    """`number` is the line, from 1, or the position in a JSON list, from 1."""

    number: int
    value: Any


def read_record(record: LineRecord | LineError, read: Callable[[Any], T]) -> T | LineError:
    """What `read` makes of the record's value, or the `LineError` that it raises with the number of the line."""
    if isinstance(record, LineError):
        return record
    try:
        return read(record.value)
    except LineError as error:
        # Without its traceback, which keeps the line.
        return LineError(error.reason, error.name, number=record.number, captions=error.captions)


def json_records(file: IO[bytes]) -> Iterator[LineRecord | LineError]:
    """The items of a JSON list, or of a file with one JSON object on each line, never more than one in memory.

    Raises FileRefusedError where nothing in the file can be read.
    """
    if is_json_list(file):
        return _json_list(file)
    head = head_of(file).lstrip()
    if b"{" not in head and CELLS.match(head):
        raise FileRefusedError(
            _("The file looks like CSV. Give JSON instead: one object on each line, with names such as “image”.")
        )
    return _json_lines(file)


def is_json_list(file: IO[bytes]) -> bool:
    """Whether all of the file is one list; raises `FileRefusedError` where it is empty or not UTF-8."""
    return head_of(file).lstrip(BLANKS.encode()).startswith(b"[")


def json_members(file: IO[bytes]) -> Iterator[tuple[str, LineRecord | LineError]]:
    """The items of the lists in a JSON object, each with the name of its list, never more than one in memory.

    What is no list comes as one item with the number 0.

    Raises FileRefusedError where the object around the lists cannot be read.
    """
    head_of(file)
    decoder, text = StrictDecoder(), _TextWindow(file)
    follows = "{"
    while text.peek() == follows:
        text.skip(follows)
        if follows == "{" and text.peek() == "}":
            break
        try:
            name = str(text.decode(decoder))
            if text.peek() != ":":
                break
            text.skip(":")
            if text.peek() == "[":
                yield from ((name, record) for record in _items(text, decoder))
                if text.peek() != "]":
                    return
                text.skip("]")
            else:
                yield name, LineRecord(0, text.decode(decoder))
        except (ValueError, RecursionError) as error:
            raise FileRefusedError(malformed(error)) from error
        follows = ","
    if text.peek() != "}":
        if text.is_undecodable:
            raise FileRefusedError(not_utf8())
        raise FileRefusedError(_("The object is not closed: the file was cut off, or a comma is missing."))
    if _is_more_after(text, "}"):
        raise FileRefusedError(_("More follows after the end of the object. Make two files of it."))


def count_lines(file: IO[bytes]) -> int:
    """How many lines there are, or 0 for a JSON list and what is no text, whose length only shows at its end."""
    file.seek(0)
    if file.read(READ_BYTES).removeprefix(codecs.BOM_UTF8).lstrip().startswith((b"[", *OTHER_KINDS)):
        return 0
    file.seek(0)
    return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def is_text(*values: str) -> bool:
    """Whether the values are characters that a database keeps: no NUL, no half of a surrogate pair."""
    return not any("\0" in value or not (value.isascii() or _is_encodable(value)) for value in values)


def _is_encodable(value: str) -> bool:
    # Many times as fast as looking at each character.
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """`text` with a mark in place of what `is_text` refuses, such as the name of a file that is not UTF-8."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def not_utf8() -> str:
    return _("Holds characters that are not valid UTF-8. Save the file as UTF-8.")


def head_of(file: IO[bytes]) -> bytes:
    """The beginning of a file of text, without its byte order mark; raises `FileRefusedError` where it is none."""
    file.seek(0)
    head = file.read(READ_BYTES)
    if kind := next((kind for start, kind in OTHER_KINDS.items() if head.startswith(start)), ""):
        reason = _("The file is %(kind)s, not text. Unpack it, or save it as text in UTF-8.")
        raise FileRefusedError(reason % {"kind": kind})
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (len(head) > 3 and head[1] == 0 == head[3]):
        raise FileRefusedError(_("The file is saved as UTF-16. Save it as UTF-8."))
    if not head.strip():
        raise FileRefusedError(_("The file is empty."))
    file.seek(0)
    return head.removeprefix(codecs.BOM_UTF8)


def _json_lines(file: IO[bytes]) -> Iterator[LineRecord | LineError]:
    decoder = StrictDecoder()
    for number, line in limited_lines(file, limits.MAX_LINE_BYTES):
        if line is None:
            reason = _("The line is longer than %(limit)s MB. Put one object on each line.")
            yield LineError(reason % {"limit": limits.MAX_LINE_BYTES // 10**6}, number=number)
            continue
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        try:
            value = decoder.decode(line.decode())
            yield LineRecord(number, value) if decoder.is_clear else LineError(malformed(_twice()), number=number)
        except UnicodeDecodeError:
            yield LineError(not_utf8(), number=number)
        except (ValueError, RecursionError) as error:
            yield LineError(malformed(error), number=number)


def limited_lines(file: IO[bytes], most_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """(number, line), the line None where it is longer than is taken."""
    number = 0
    while line := file.readline(most_bytes):
        number += 1
        if line.endswith(b"\n") or len(line) < most_bytes:
            yield number, line
            continue
        while (rest := file.readline(most_bytes)) and not rest.endswith(b"\n"):
            pass
        yield number, None


def _json_list(file: IO[bytes]) -> Iterator[LineRecord | LineError]:
    text = _TextWindow(file)
    if text.peek() != "[":  # it is there; what follows could not be decoded
        raise FileRefusedError(not_utf8())
    last = 0
    for record in _items(text, StrictDecoder()):
        last = record.number or last
        yield record
    if _is_more_after(text, "]"):
        reason = _("More follows after the end of the list, and was not read. Put everything into one list.")
        yield LineError(reason, number=last + 1)


def _is_more_after(text: _TextWindow, end: str) -> bool:
    """Whether anything follows where the text stands at the `end` of its only value, as of two files put together."""
    if text.peek() != end:
        return False
    text.skip(end)
    return text.peek() != ""


def _items(text: _TextWindow, decoder: StrictDecoder) -> Iterator[LineRecord | LineError]:
    """The items of the list at which `text` stands; it stands at the list's end after them, if that was found."""
    text.skip("[")
    number = 0
    if text.peek() == "]":
        return
    while True:
        number += 1
        try:
            value = text.decode(decoder)
        except (ValueError, RecursionError) as error:
            reason = malformed(error) + " " + _("Nothing after it could be read.")
            yield LineError(reason, number=number)
            return
        yield LineRecord(number, value) if decoder.is_clear else LineError(malformed(_twice()), number=number)
        follows = text.peek()
        if follows == "]":
            return
        if follows != ",":
            reason = _("The list is not closed: the file was cut off, or a comma is missing.")
            yield LineError(reason, number=number + 1)
            return
        text.skip(",")


class StrictDecoder(json.JSONDecoder):
    """JSON without NaN and infinity; `is_clear` tells whether no object of the last value names one thing twice."""

    def __init__(self) -> None:
        super().__init__(parse_constant=no_number, object_pairs_hook=self._object)
        self.is_clear = True

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        self.is_clear = True
        return super().raw_decode(s, idx)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        self.is_clear = self.is_clear and len(value) == len(pairs)
        return value


class _TextWindow:
    """The part of a long text that is being read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at_end = False
        self.is_undecodable = False

    def _fill(self) -> None:
        chunk = self._file.read(max(READ_BYTES, len(self._text)))
        self._at_end = not chunk
        try:
            self._text += self._decoder.decode(chunk, self._at_end)
        except UnicodeDecodeError as error:
            raise ValueError(not_utf8()) from error

    def peek(self) -> str:
        """The next character that is no blank, or "" at the end."""
        while not (stripped := self._text.lstrip(BLANKS)) and not self._at_end:
            try:
                self._fill()
            except ValueError:
                self.is_undecodable = True
                return ""
        self._text = stripped
        return stripped[:1]

    def skip(self, expected: str) -> None:
        assert self.peek() == expected
        self._text = self._text[1:]

    def decode(self, decoder: json.JSONDecoder) -> Any:
        self.peek()
        while True:
            try:
                value, end = decoder.raw_decode(self._text)
            except json.JSONDecodeError:
                if self._at_end or len(self._text) > limits.MAX_LINE_BYTES:
                    raise
            else:
                if end < len(self._text) or self._at_end:  # else a number might go on
                    self._text = self._text[end:]
                    return value
            self._fill()


class RefusedJsonError(ValueError):
    """JSON that is read without an error and refused all the same."""


def malformed(error: Exception) -> str:
    """Why JSON could not be read. Python's message names a place and never repeats the content."""
    if isinstance(error, json.JSONDecodeError):
        where = f"{error.msg}, {_('character')} {error.colno}"
    elif isinstance(error, ValueError) and str(error) == not_utf8():
        return str(error)
    elif isinstance(error, RecursionError):
        where = _("nested too deeply")
    elif isinstance(error, RefusedJsonError):
        where = str(error)
    else:  # Python reads no whole numbers of thousands of digits.
        where = _("a number has too many digits")
    return _("Not valid JSON%(where)s.") % {"where": f" ({where})"}


def no_number(constant: str) -> NoReturn:
    raise RefusedJsonError(_("%(constant)s is not a value") % {"constant": constant})


def _twice() -> RefusedJsonError:
    return RefusedJsonError(_("an object has the same name twice"))
