"""Tables as files: lines of CSV and JSON, workbooks for spreadsheets, and how they are sent in pieces."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, TypeVar

BYTE_ORDER_MARK = "\ufeff"
"""Without it spreadsheets take the file for Latin letters; Python reads it as `utf-8-sig`."""
CSV_TYPE = "text/csv; charset=utf-8"
FORMULA_STARTS = frozenset("=+-@|%\t\r\n" + "＝＋－＠｜％" + "−﹢﹣﹦﹫")
QUOTE = "'"


def cell_text(cell: object) -> str:
    """A cell that no spreadsheet takes for a formula, as text; None is empty, and numbers stay numbers."""
    if cell is None or cell == "":
        return ""
    return safe_cell(cell) if isinstance(cell, str) else str(cell)


def csv_line(cells: Iterable[object], text_of: Callable[[object], str] = cell_text) -> str:
    """A line of which no spreadsheet takes a text for a formula: each cell by `text_of`, in quotes.

    It has the bytes that `csv.writer` writes with `csv.QUOTE_ALL`, and takes a quarter of the time.
    """
    # Most cells are whole numbers, or texts that begin with a letter or digit and so like no formula.
    texts = [
        (cell if cell[:1].isalnum() else text_of(cell))
        if isinstance(cell, str)
        else (str(cell) if type(cell) is int else text_of(cell))
        for cell in cells
    ]
    line = '","'.join(texts)
    if line.count('"') > 2 * (len(texts) - 1):
        line = '","'.join([text.replace('"', '""') for text in texts])
    return f'"{line}"\r\n'


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


PIECE_BYTES = 1 << 16
R = TypeVar("R")
JSON_LINES_TYPE = "application/jsonl; charset=utf-8"
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def in_pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines as bytes, many in one piece: each piece costs a step of the server."""
    piece = bytearray()
    for line in lines:
        piece += line.encode()
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def json_line(value: Any) -> str:
    """`value` as one line of JSON, as `json.dumps` writes it."""
    return _ENCODER.encode(value) + "\n"


def json_texts(values: Iterable[Any]) -> list[str]:
    """Each of `values` as `json_line` writes it within a line. A table by columns takes half of its time by lines."""
    return [
        encode_basestring(value) if isinstance(value, str) else "null" if value is None else _json_text(value)
        for value in values
    ]


def _json_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(json_texts(value))}]"
    return str(value) if type(value) is int else _ENCODER.encode(value)


def cells_of(columns: Mapping[str, Callable[[R], Any]], rows: Iterable[R]) -> Iterator[dict[str, Any]]:
    """What stands in each column for each row."""
    return ({name: value(row) for name, value in columns.items()} for row in rows)


def csv_lines(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Rows as CSV for spreadsheets: truth values are in small letters, and the items of a list are joined by blanks."""
    yield BYTE_ORDER_MARK + csv_line(columns)
    for row in rows:
        yield csv_line(row, _text_of)


def _text_of(value: Any) -> str:
    return cell_text(str(value).lower() if isinstance(value, bool) else flat_value(value))


def flat_value(value: Any) -> Any:
    """Return what one cell holds of a value: the items of a list are joined by blanks, and objects are JSON."""
    if not isinstance(value, list | tuple):
        return value
    return " ".join(value) if all(isinstance(one, str) for one in value) else _ENCODER.encode(value)


def write_whole(path: Path, pieces: Iterable[bytes]) -> None:
    """Write the whole file or none: an export that breaks off leaves what was at `path` before."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        unfinished = Path(file.name)
        try:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
            unfinished.chmod(0o666 & ~_umask())
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def as_iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stamp(moment: datetime) -> str:
    """For the name of a file, to the minute."""
    return f"{moment.astimezone(UTC):%Y%m%d-%H%M}"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
