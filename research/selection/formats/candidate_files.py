"""Read a file of candidates, as CSV in UTF-8, packed by gzip or not: one line at a time, however long the file is."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import IO, Self

from django.utils.translation import gettext as _

from crosslens_metrics.formats.csv_records import SEPARATOR_LINE, unclosed
from crosslens_metrics.formats.problems import FileRefusedError
from parallel_text.problems import CorpusError
from parallel_text.sentences import limited_reader
from research.selection.rules.candidates import (
    COLUMNS,
    CandidateFault,
    CandidateLine,
    ColumnsError,
    columns_of,
    read_line,
)

GZIP = b"\x1f\x8b"
DELIMITERS = ",;\t"
MAX_LINE_CHARACTERS = 100_000
MAX_LINES = 20_000_000
"""Against files that unpack without end."""


def sha256_of(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def candidate_lines(
    file: IO[bytes], *, needs_licence: bool
) -> Iterator[tuple[int, str, CandidateLine | CandidateFault]]:
    """Yield the number of each line, what to call it, and the candidate or what keeps it out.

    Lines are counted from 1, the first after the header; a line within quotes counts as part of its row.

    Raises FileRefusedError where the file is no table of candidates.
    """
    file.seek(0)
    start = file.read(2)
    file.seek(0)
    unpacked = file
    if start == GZIP:
        unpacked = limited_reader(gzip.GzipFile(fileobj=file), _("The file"), packed_bytes=file.seek(0, os.SEEK_END))
        file.seek(0)
    text = io.TextIOWrapper(unpacked, encoding="utf-8-sig", newline="")
    try:
        lines = _bounded(text)
        header = next(lines, "")
        if SEPARATOR_LINE.fullmatch(header.strip()):
            header = next(lines, "")
        columns, delimiter = _columns(header)
        key = columns["key"]
        for number, cells in enumerate(_rows(lines, delimiter), start=1):
            if cells is None:
                yield number, "", CandidateFault.UNREADABLE
                continue
            if number > MAX_LINES:
                raise FileRefusedError(_("The file has more than %(limit)s lines. Split it.") % {"limit": MAX_LINES})
            yield (
                number,
                cells[key].strip() if key < len(cells) else "",
                read_line(cells, columns, needs_licence=needs_licence),
            )
    except UnicodeDecodeError as error:
        raise FileRefusedError(_("The file is not UTF-8. Save it as UTF-8.")) from error
    except CorpusError as error:
        raise FileRefusedError(str(error)) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileRefusedError(_("The file cannot be unpacked. Pack it again.")) from error


def _bounded(text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(MAX_LINE_CHARACTERS):
        if len(line) == MAX_LINE_CHARACTERS:
            raise FileRefusedError(
                _("A line has more than %(limit)s characters. Is this a CSV file?") % {"limit": MAX_LINE_CHARACTERS}
            )
        yield line


def _rows(lines: Iterator[str], delimiter: str) -> Iterator[list[str] | None]:
    """Yield the rows below the header, None for one whose quotation marks make no sense."""
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first = rows.line_num + 1
        try:
            if row := next(rows):
                yield row
        except StopIteration:
            return
        except csv.Error as error:
            is_open = rows.line_num > first or "unexpected end" in str(error)
            if is_open:
                raise FileRefusedError(unclosed(first + 1)) from error
            yield None


def _columns(line: str) -> tuple[dict[str, int], str]:
    """Find the columns, and what parts the cells: commas, semicolons or tabs."""
    if not line:
        raise FileRefusedError(_("The file is empty."))
    delimiter = max(DELIMITERS, key=line.count)
    try:
        return columns_of(next(csv.reader([line], delimiter=delimiter), [])), delimiter
    except ColumnsError as error:
        names = "; ".join(" / ".join(COLUMNS[field]) for field in error.doubled or error.missing)
        if error.doubled:
            raise FileRefusedError(_("Keep only one of these columns: %(names)s.") % {"names": names}) from error
        raise FileRefusedError(_("These columns are missing: %(names)s.") % {"names": names}) from error


DIGEST_BYTES = 12
"""So that among a hundred million texts two share a digest with a probability of one in ten trillion."""

CACHE_KIB = 32_768
PARAMETERS = 500


class SeenTexts:
    """Texts that came before. They are kept on disk, in a file that is gone when this is closed.

    Ask for and add many at a time: in the order of their digests they share pages of the file.
    """

    def __init__(self) -> None:
        self._table = sqlite3.connect("", isolation_level=None)
        self._table.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._table.execute("PRAGMA journal_mode = OFF")
        self._table.execute("CREATE TABLE seen (digest BLOB PRIMARY KEY) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._table.close()

    def among(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those of `digests` that came before."""
        return set(self._found(sorted(digests)))

    def add(self, digests: Iterable[bytes]) -> None:
        with self._table:
            self._table.execute("BEGIN")
            self._table.executemany("INSERT OR IGNORE INTO seen VALUES (?)", ((one,) for one in sorted(digests)))

    def _found(self, digests: list[bytes]) -> Iterator[bytes]:
        for start in range(0, len(digests), PARAMETERS):
            some = digests[start : start + PARAMETERS]
            marks = ",".join("?" * len(some))
            query = f"SELECT digest FROM seen WHERE digest IN ({marks})"  # noqa: S608 marks alone
            yield from (row[0] for row in self._table.execute(query, some))


def digest_of(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()
