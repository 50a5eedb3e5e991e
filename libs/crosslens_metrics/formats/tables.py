"""Tables of figures that people made, read cell by cell as they stand: docs/researchers.md.

No database is needed. All problems of a file are collected, so that it can be put right in one go.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from crosslens_metrics.formats.csv_records import csv_records
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.opening import plain_text
from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError, LineError

MAX_BYTES = 50_000_000
MAX_NUMBER = Decimal("1e150")
"""Squares of larger numbers overflow."""
MISSING = frozenset({"", "n/a", "n.a.", "na", "#n/a", "nan", "none", "null", "nil", "-", "--", "...", "?", "."})

_MINUS = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
_SAME_LETTER = {ord("\u2206"): "\u0394", ord("\u2211"): "\u03a3"} | _MINUS
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,60}(?:\.[0-9]{0,60})?|\.[0-9]{1,60})(?:e[+-]?[0-9]{1,3})?")
_BY_THREES = re.compile(r"([+-]?[0-9]{1,3})((?: [0-9]{3})+)(?![0-9])")
_THOUSANDS_OR_DECIMALS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


@dataclass(frozen=True)
class TextRow:
    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class TextTable:
    """`columns` as the first line names them; each row has a cell for each."""

    columns: tuple[str, ...]
    rows: tuple[TextRow, ...]

    def place(self, asked: str) -> int:
        """Which column goes by a name; capitals, blanks and underscores only tell where they must.

        Raises FileRefusedError where none does, or several do.
        """
        for alike in (str.strip, folded_name):
            places = [place for place, name in enumerate(self.columns) if alike(name) == alike(asked)]
            if len(places) == 1:
                return places[0]
            if places:
                names = ", ".join(f"“{self.columns[place]}”" for place in places)
                raise FileRefusedError(f"“{asked}” may be any of several columns: {names}. Rename them.")
        there = ", ".join(f"“{name}”" for name in self.columns if name)
        raise FileRefusedError(f"There is no column “{asked}”; there are: {there}.")

    def texts(self, place: int) -> tuple[str, ...]:
        return tuple(row.cells[place] for row in self.rows)

    def numbers(self, place: int) -> tuple[Decimal | None, ...]:
        """The column as it is written, without rounding; None where a cell is empty or says that it has no value.

        Raises FileRefusedError where a cell is no number, or one could be read in two ways.
        """
        name = self.columns[place]
        texts = [_plain(row.cells[place]) for row in self.rows]
        given = [(row.line, text) for row, text in zip(self.rows, texts, strict=True) if text not in MISSING]
        percent = [line for line, text in given if text.endswith("%")]
        if percent and len(percent) < len(given):
            other = next(line for line, text in given if not text.endswith("%"))
            message = f"{name} has a percent sign here and none on line {other}. Write all cells alike."
            raise FileProblemsError([LineError(message, number=percent[0])])
        are_commas_points = _are_commas_points(name, given)
        problems: list[LineError] = []
        numbers: list[Decimal | None] = []
        for row, text in zip(self.rows, texts, strict=True):
            bare = text.removesuffix("%").rstrip()
            bare = bare.replace(",", ".") if are_commas_points else bare
            if text in MISSING:
                numbers.append(None)
            elif _NUMBER.fullmatch(bare) and abs(Decimal(bare)) < MAX_NUMBER:
                numbers.append(Decimal(bare))
            else:
                cell = row.cells[place].strip()[:40]
                reason = f"{name} is “{cell}”. Give a number, or leave the cell empty."
                problems.append(LineError(reason, number=row.line))
        if problems:
            raise FileProblemsError(problems)
        return tuple(numbers)

    def lacking(self, numbers: Mapping[int, Sequence[Decimal | None]], said: str) -> list[LineError]:
        """One error for each number that is missing, column after column; `said` follows the name of the column."""
        return [
            LineError(f"{self.columns[place]} {said}", number=row.line)
            for place, column in numbers.items()
            for row, number in zip(self.rows, column, strict=True)
            if number is None
        ]


def read_table(file: Path, *, asked: Iterable[str]) -> TextTable:
    """The table of a file; which sign parts its cells shows where the first line names what is asked for.

    - `file`: cells parted by commas, semicolons, tabs or bars.
    - `asked`: names of columns that it must have.

    Raises FileRefusedError where it cannot be read, or lacks a column.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileRefusedError(f"The file cannot be read: {error.strerror}.") from error
    return parse_table(content, asked=asked)


def parse_table(content: bytes, *, asked: Iterable[str]) -> TextTable:
    """The same from what a file holds.

    Raises FileRefusedError as `read_table`.
    """
    if len(content) > MAX_BYTES:
        raise FileRefusedError(f"That is more than {MAX_BYTES // 10**6} MB. Leave out what is no figure.")
    with LineReader() as reader, plain_text(io.BytesIO(content)) as file:
        rows = list(reader.whole(csv_records(file, keeps_case=True, skips_blanks=True)))
    if not rows:
        raise FileRefusedError("There is no row below the first line, which names the columns.")
    columns = tuple(rows[0].value)
    table = TextTable(
        columns, tuple(TextRow(row.number, tuple(row.value.get(name, "") for name in columns)) for row in rows)
    )
    for name in asked:
        table.place(name)
    return table


def folded_name(name: str) -> str:
    """A name without what people write now this way, now that way."""
    plain = unicodedata.normalize("NFKC", name).translate(_SAME_LETTER).casefold()
    return "".join(
        character for character in plain if not (character.isspace() or character == "_" or _is_unseen(character))
    )


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in {"Cf", "Cc"}


def _plain(cell: str) -> str:
    """A number in plain digits and signs; no blanks around it, after its sign or between thousands."""
    if any(unicodedata.decomposition(character).startswith(("<super>", "<sub>")) for character in cell):
        # A raised figure is a note, which must not become the number's last digit.
        return cell.strip()
    text = unicodedata.normalize("NFKC", cell).translate(_MINUS).casefold()
    text = " ".join("".join(character for character in text if not _is_unseen(character) or character == "\t").split())
    # Programs that write for spreadsheets put an apostrophe before a minus, lest it begin a formula.
    text = re.sub(r"^'?([+-]) ?", r"\1", text)
    return _BY_THREES.sub(lambda match: match[0].replace(" ", ""), text)


def _are_commas_points(name: str, given: Sequence[tuple[int, str]]) -> bool:
    """Whether a column writes decimals with a comma: no cell has a point, and one cannot be meant as thousands."""
    with_comma = [(line, text.removesuffix("%").rstrip()) for line, text in given if "," in text]
    if not with_comma or any("." in text for line, text in given):
        return False
    if all(_THOUSANDS_OR_DECIMALS.fullmatch(text) for line, text in with_comma):
        line, text = with_comma[0]
        message = f"{name} is “{text}”: thousands or decimals? Write decimals with a point, thousands without a comma."
        raise FileProblemsError([LineError(message, number=line)])
    return True
