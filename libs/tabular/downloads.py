"""Files written piece by piece, in constant memory."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, TypeVar

from tabular.downloads import BYTE_ORDER_MARK, cell_text, csv_line

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


def table_lines(columns: Iterable[str], rows: Iterable[Mapping[str, Any]], *, as_csv: bool) -> Iterator[str]:
    """The same rows as CSV for spreadsheets, or as JSON Lines."""
    return csv_lines(columns, (row.values() for row in rows)) if as_csv else map(json_line, rows)


def csv_lines(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Rows as CSV for spreadsheets: truth values are in small letters, and the items of a list are joined by blanks."""
    yield BYTE_ORDER_MARK + csv_line(columns)
    for row in rows:
        yield csv_line(row, _text_of)


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return cell_text(" ".join(value) if isinstance(value, list | tuple) else value)


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
