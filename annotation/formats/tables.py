"""The same rows as JSON Lines and as Parquet, in constant memory; the same rows give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from json.encoder import encode_basestring
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

TEXT, NUMBER, DAY, TEXTS = pa.string(), pa.int32(), pa.date32(), pa.list_(pa.string())
"""Kinds of columns. A day is a text in JSON, of the form 2026-11-21."""

ROWS_PER_GROUP = 4_000
PIECE_CHARACTERS = 1 << 16


class Table:
    """`NAME.jsonl` and `NAME.parquet` in a folder. Rows are tuples in the order of the columns."""

    def __init__(self, folder: Path, name: str, columns: Mapping[str, pa.DataType]) -> None:
        self.count = 0
        self._kinds = list(columns.values())
        self._texts_of = [(f'"{column}": ', TEXT_OF.get(kind, _list)) for column, kind in columns.items()]
        self._waiting: list[tuple[Any, ...]] = []
        self._lines: list[str] = []
        self._characters = 0
        self._schema = pa.schema([pa.field(column, kind) for column, kind in columns.items()])
        with ExitStack() as stack:
            self._json = stack.enter_context((folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n"))
            self._parquet = stack.enter_context(
                pq.ParquetWriter(
                    folder / f"{name}.parquet",
                    self._schema,
                    version="2.6",
                    compression="zstd",
                    compression_level=3,
                )
            )
            self._files = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._write_lines()
            self._write_group()
        self._files.close()

    def add(self, row: tuple[Any, ...]) -> None:
        # As json.dumps would write it, in a third of the time.
        values = [f"{name}{text_of(value)}" for (name, text_of), value in zip(self._texts_of, row, strict=True)]
        line = f"{{{', '.join(values)}}}"
        self._lines.append(line)
        self._characters += len(line)
        if self._characters > PIECE_CHARACTERS:
            self._write_lines()
        self._waiting.append(row)
        if len(self._waiting) == ROWS_PER_GROUP:
            self._write_group()
        self.count += 1

    def _write_lines(self) -> None:
        self._json.writelines(f"{line}\n" for line in self._lines)
        self._lines.clear()
        self._characters = 0

    def _write_group(self) -> None:
        if not self._waiting:
            return
        values = zip(*self._waiting, strict=True)
        arrays = [_array(column, kind) for column, kind in zip(values, self._kinds, strict=True)]
        self._parquet.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=ROWS_PER_GROUP)
        self._waiting.clear()


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(values, TEXT).cast(DAY) if kind == DAY else pa.array(values, kind)


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


@lru_cache(maxsize=1024)
def _list(values: tuple[str, ...]) -> str:
    return json.dumps(values, ensure_ascii=False)


TEXT_OF: Mapping[pa.DataType, Callable[[Any], str]] = {TEXT: _text, DAY: _text, NUMBER: _number}
"""How a value of a kind stands in JSON."""
