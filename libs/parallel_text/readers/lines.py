"""Read files of text line by line."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from typing import IO

from crosslens_metrics.formats.records import limited_lines
from crosslens_metrics.messages import gettext as _
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.readers.sentences import MAX_SENTENCE_CHARACTERS

MAX_LINE_BYTES = 20 * MAX_SENTENCE_CHARACTERS
"""Of a line, which may have two sentences of characters of four bytes and blanks around them."""


def lines_of(file: IO[bytes], name: str, problems: LineProblems) -> Iterator[tuple[int, str | None]]:
    """Give each line with its number from 1; None for one that cannot be read, which is added to `problems`.

    Raises
    ------
    CorpusError
        Where the file is UTF-16, so that none of its lines could be read.
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
