"""Open files that may be packed, without trusting what they say of themselves, and read sentences line by line."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple
from unicodedata import normalize
from zipfile import BadZipFile

from crosslens_metrics.formats import limits
from crosslens_metrics.formats.records import limited_lines
from crosslens_metrics.messages import gettext as _
from parallel_text.problems import CorpusError, LineProblems

MAX_SENTENCE_CHARACTERS = 1_000
"""Longer than any sentence that a reader of a game or an aligner can use; subtitles seldom pass 100."""

BROKEN = "\ufffd"
"""What other programs put in place of characters that they could not read."""

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
INVISIBLE = dict.fromkeys(
    (0xAD, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF)
)
"""Hyphens and marks of direction that show nothing, which would make two words of one."""


class SentencePair(NamedTuple):
    """An English sentence and its translation.

    `line` of `file` is where they stand, and `number` counts the English sentences of that file. `id` is how the source
    names the English one; empty if it does not.
    """

    english: str
    other: str
    file: str
    line: int
    number: int
    id: str = ""


class BadSentenceError(ValueError):
    """A sentence cannot be used; `kind` is the problem's."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def clean(text: str) -> str:
    """Bring a sentence into Unicode's form NFC, with single spaces between its words and none around them.

    Raises BadSentenceError where it is too long, or holds control characters or marks of broken ones.
    """
    if len(text) > MAX_SENTENCE_CHARACTERS:
        message = _("A sentence has more than %(limit)s characters. Split it into sentences.")
        raise BadSentenceError("too_long", message % {"limit": MAX_SENTENCE_CHARACTERS})
    sentence = " ".join(normalize("NFC", text).split())
    if sentence.isprintable():
        if BROKEN in sentence:
            raise BadSentenceError("bad_encoding", _("It holds broken characters (�). Fix its encoding."))
        return sentence
    if CONTROLS.search(sentence):
        raise BadSentenceError("control_characters", _("It holds control characters, which no text has. Remove them."))
    return " ".join(sentence.translate(INVISIBLE).split())


GZIP_START = b"\x1f\x8b"
BUFFER_BYTES = 1 << 20


@contextmanager
def opened(path: Path, name: str) -> Iterator[IO[bytes]]:
    """Open a file, unpacked if it is gzip; `name` is that in messages.

    Raises CorpusError also while the file is read in the block.
    """
    with faults_of(name), path.open("rb") as file:
        start = file.read(len(GZIP_START))
        file.seek(0)
        if start != GZIP_START:
            yield file
            return
        with gzip.open(file) as unpacked:
            yield limited_reader(unpacked, name, packed_bytes=path.stat().st_size)


@contextmanager
def faults_of(name: str) -> Iterator[None]:
    """Say which file it is that cannot be read or unpacked."""
    try:
        yield
    except (BadZipFile, gzip.BadGzipFile, EOFError, zlib.error, NotImplementedError) as error:
        raise CorpusError(
            _("%(file)s cannot be unpacked: it is incomplete or broken. Download it again.") % {"file": name}
        ) from error
    except OSError as error:
        raise CorpusError(
            _("%(file)s cannot be read: %(error)s.") % {"file": name, "error": error.strerror or error}
        ) from error


def limited_reader(file: IO[bytes] | gzip.GzipFile, name: str, *, packed_bytes: int) -> IO[bytes]:
    """Read from `file` until that would be more than packed text unpacks to."""
    return io.BufferedReader(_LimitedReader(file, name, limits.most_unpacked_bytes(packed_bytes)), BUFFER_BYTES)


class _LimitedReader(io.RawIOBase):
    def __init__(self, file: IO[bytes] | gzip.GzipFile, name: str, left_bytes: int) -> None:
        self._file, self._name, self._left_bytes = file, name, left_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer))
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            message = _("%(file)s would unpack to more than %(limit)s times its size, so it is not text.")
            raise CorpusError(message % {"file": self._name, "limit": limits.MAX_TEXT_RATIO})
        buffer[: len(data)] = data
        return len(data)


def is_of(tag: str, language: str) -> bool:
    """Return whether `tag` is `language` or one of its regions: en-US and en_GB are en."""
    tag, language = tag.replace("_", "-").lower(), language.lower()
    return tag == language or tag.startswith(f"{language}-")


MAX_LINE_BYTES = 20 * MAX_SENTENCE_CHARACTERS
"""Of a line, which may have two sentences of characters of four bytes and blanks around them."""


def lines_of(file: IO[bytes], name: str, problems: LineProblems) -> Iterator[tuple[int, str | None]]:
    """Give each line with its number from 1; None for one that cannot be read, which is added to `problems`.

    Raises CorpusError where the file is UTF-16, so that none of its lines could be read.
    """
    for number, line in limited_lines(file, MAX_LINE_BYTES):
        if line is None:
            message = _("The line has more than %(limit)s bytes. Write one sentence on each line.")
            problems.add("too_long", message % {"limit": MAX_LINE_BYTES}, file=name, line=number)
            yield number, None
            continue
        if number == 1:
            line = _without_mark(line, name)
        try:
            yield number, line.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            message = _("The line holds characters that are not valid UTF-8. Save the file as UTF-8.")
            problems.add("bad_encoding", message, file=name, line=number)
            yield number, None


def _without_mark(line: bytes, name: str) -> bytes:
    if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or (len(line) > 3 and line[1] == 0 == line[3]):
        raise CorpusError(_("%(file)s is saved as UTF-16. Save it as UTF-8.") % {"file": name})
    return line.removeprefix(BOM_UTF8)
