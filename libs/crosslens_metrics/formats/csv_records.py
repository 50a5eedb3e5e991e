"""Read tables that people made: broken rows are reported by number, and the others are read."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO

from crosslens_metrics.formats import limits
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import READ_BYTES, LineRecord, head_of, is_text, not_utf8
from crosslens_metrics.messages import gettext as _

SEPARATORS = ",;\t|"
SEPARATOR_LINE = re.compile(rf'\s*"?sep=[{SEPARATORS}]"?\s*')
"""What Excel writes before the names of the columns. The separator shows by itself."""


def csv_records(
    file: IO[bytes],
    *,
    column: str = "",
    more: Sequence[str] = (),
    keeps_case: bool = False,
    skips_blanks: bool = False,
) -> Iterator[LineRecord | LineError]:
    """The rows of a CSV file as dicts; commas, semicolons, tabs or bars part its cells, as its first line shows.

    - `column`: a column that the first line must name, and that shows what parts the cells. Without one, what makes
      most columns of the first line does.
    - `more`: further columns that it must name.
    - `keeps_case`: whether names of columns are as in the file. Otherwise their case does not matter, and they are in
      lower case.
    - `skips_blanks`: whether a quotation mark counts as one after blanks too, as in tables of figures.

    Raises FileRefusedError where the first line does not name `column` and `more`, or one name comes twice, and where a
    quotation mark that is never closed has taken in more lines than its own.
    """
    head_of(file)
    lines = _CsvLines(file)
    header, delimiter = _csv_header(lines, (column, *more) if column else (), keeps_case=keeps_case)
    rows = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=skips_blanks and delimiter != "\t")
    while True:
        number = lines.begin_row()
        try:
            row = next(rows)
        except StopIteration:
            return
        except (csv.Error, _RowTooLongError) as error:
            if lines.number > number and (lines.is_at_end or isinstance(error, _RowTooLongError)):
                raise FileRefusedError(unclosed(number)) from error
            yield LineError(_why_no_row(error), number=number)
            continue
        text = "".join(row)
        if not text.strip():
            continue
        if any(cell.strip() for cell in row[len(header) :]):
            reason = _(
                "%(found)s cells, but the first line names %(named)s. "
                "Put cells that hold the separator in quotation marks."
            )
            yield LineError(reason % {"found": len(row), "named": len(header)}, number=number)
        elif "\0" in text:
            yield LineError(_("Holds a NUL character. Save the file as text, in UTF-8."), number=number)
        elif not is_text(text):
            yield LineError(not_utf8(), number=number)
        else:
            # Flickr30k has a blank after each bar, which is not of the caption.
            cells = [cell.strip() for cell in row] if delimiter == "|" else row
            yield LineRecord(number, dict(zip(header, cells, strict=False)))


def is_own_csv(file: IO[bytes]) -> bool:
    """Whether Crosslens wrote a table: with a byte order mark, and each cell in quotation marks."""
    file.seek(0)
    line = file.readline(limits.MAX_LINE_BYTES)
    is_quoted = line.startswith(codecs.BOM_UTF8 + b'"') and line.endswith(b'"\r\n')
    return is_quoted and line.count(b'"') == 2 * line.count(b'","') + 2


def own_csv_records(file: IO[bytes]) -> Iterator[LineRecord | LineError]:
    """Rows without the apostrophe that such a table has before what a spreadsheet would take for a formula."""
    for record in csv_records(file, keeps_case=True):
        if isinstance(record, LineRecord):
            record = LineRecord(record.number, {name: text.removeprefix("'") for name, text in record.value.items()})
        yield record


def csv_columns(file: IO[bytes]) -> list[str]:
    """The names of the columns in the first line, in lower case.

    Raises FileRefusedError.
    """
    head_of(file)
    return _csv_header(_CsvLines(file), (), keeps_case=False)[0]


class _RowTooLongError(Exception):
    """A row of a CSV file has more characters than any that is meant as one."""


class _CsvLines(Iterator[str]):
    """The lines of a file for `csv.reader`, which has no limit of its own for what stands in quotation marks.

    `number` is that of the last line read, from 1.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._pieces = _pieces(file)
        self._characters = 0
        self.number = 0
        self.is_at_end = False

    def begin_row(self) -> int:
        """The number of the line at which the next row begins."""
        self._characters = 0
        return self.number + 1

    def __next__(self) -> str:
        try:
            line = next(self._pieces).decode("utf-8", "surrogateescape")
        except StopIteration:
            self.is_at_end = True
            raise
        self.number += 1
        self._characters += len(line)
        if self._characters > limits.MAX_ROW_CHARACTERS:
            raise _RowTooLongError
        return line.removeprefix("\ufeff") if self.number == 1 else line


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Lines, however they end: spreadsheets on old Macs have a mere carriage return. What is too long is cut off."""
    rest = b""
    while chunk := file.read(READ_BYTES):
        *whole, last = (rest + chunk).splitlines(keepends=True)
        yield from whole
        # What may go on; of a line that is too long, enough to tell.
        rest = last if len(last) <= limits.MAX_LINE_BYTES or last.endswith((b"\r", b"\n")) else last[:-READ_BYTES]
    if rest:
        yield rest


def unclosed(number: int) -> str:
    """Say that a quotation mark opened on line `number` is not closed, and what to do."""
    return _(
        "In the row that begins on line %(number)s a quotation mark is opened and never closed, so that the lines "
        "after it count as part of it. Close it there, or write it twice where it is meant as a character."
    ) % {"number": number}


def _why_no_row(error: Exception) -> str:
    if isinstance(error, _RowTooLongError):
        return _("The row has more than %(limit)s characters.") % {"limit": limits.MAX_ROW_CHARACTERS}
    return _("Not a row of a CSV file (%(error)s). Check the quotation marks.") % {"error": error}


def _csv_header(lines: _CsvLines, columns: Sequence[str], *, keeps_case: bool) -> tuple[list[str], str]:
    try:
        line = next(lines, "")
        if SEPARATOR_LINE.fullmatch(line):
            line = next(lines, "")
    except _RowTooLongError as error:
        reason = _("The first line has more than %(limit)s characters. Does it name the columns?")
        raise FileRefusedError(reason % {"limit": limits.MAX_ROW_CHARACTERS}) from error
    if not is_text(line):
        raise FileRefusedError(not_utf8())
    header = {
        one: [name.strip() for name in next(csv.reader([line], delimiter=one, skipinitialspace=True), [])]
        for one in SEPARATORS
    }
    if not keeps_case:
        header = {delimiter: [name.lower() for name in names] for delimiter, names in header.items()}
    delimiter = max(header, key=lambda one: (bool(columns) and columns[0] in header[one], len(header[one])))
    names = header[delimiter]
    if missing := [column for column in columns if column not in names]:
        raise FileRefusedError(
            _("The first line names no column “%(column)s”; it has: %(names)s.")
            % {"column": missing[0], "names": ", ".join(names)[:200]}
        )
    if repeated := sorted(name for name, count in Counter(names).items() if name and count > 1):
        raise FileRefusedError(_("The first line names the column “%(name)s” twice.") % {"name": repeated[0]})
    return names, delimiter
