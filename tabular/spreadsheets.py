"""Files for spreadsheets, of which no cell is taken for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

BYTE_ORDER_MARK = "\ufeff"
"""Without it spreadsheets take the file for Latin letters; Python reads it as `utf-8-sig`."""
CSV_TYPE = "text/csv; charset=utf-8"
FORMULA_STARTS = frozenset("=+-@|%\t\r\n" + "＝＋－＠｜％" + "−﹢﹣﹦﹫")
QUOTE = "'"


def csv_line(cells: Iterable[object]) -> str:
    """A line of which no spreadsheet takes a text for a formula; None is an empty cell, and numbers stay numbers."""
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(csv_safe(cells))
    return line.getvalue()


def csv_safe(row: Iterable[object]) -> list[object]:
    """Cells that no spreadsheet takes for a formula."""
    return [safe_cell(cell) if isinstance(cell, str) else cell for cell in row]


def safe_cell(text: str) -> str:
    """`text` as no spreadsheet takes it for a formula: with an apostrophe in front where it might be one.

    One is also put before an apostrophe, so that `plain_cell` gets every text back.
    """
    # Spreadsheets may skip spaces and invisible characters before they look.
    start = next((character for character in text if not _is_skipped(character)), "")
    return QUOTE + text if start in FORMULA_STARTS or text.startswith(QUOTE) else text


def plain_cell(cell: str) -> str:
    """What `safe_cell` was given."""
    return cell.removeprefix(QUOTE)


def _is_skipped(character: str) -> bool:
    return character not in FORMULA_STARTS and (character.isspace() or not character.isprintable())
