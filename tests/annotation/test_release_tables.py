"""A table of a release has the bytes that it has when it is written row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from annotation.formats import release_tables
from annotation.formats.release_tables import DAY, FLOAT, NUMBER, TEXT, TEXTS, ReleaseColumn, ReleaseTable
from tabular.downloads import json_line
from tests.tabular.nasty import NASTY

Row = Mapping[str, Any]
KINDS = {"text": TEXT, 'a "b"': TEXT, "number": NUMBER, "texts": TEXTS, "day": DAY, "float": FLOAT}
COLUMNS: list[ReleaseColumn[Row]] = [ReleaseColumn(name, kind, itemgetter(name), "") for name, kind in KINDS.items()]


def rows() -> list[Row]:
    made: list[Row] = []
    for number, text in enumerate(NASTY):
        is_empty = number % 3 == 0
        values: tuple[Any, ...] = (text, None, None, (), None, None)
        if not is_empty:
            values = (text, text[::-1], number - 5, (text, "b"), f"2026-03-{number % 28 + 1:02}", number / 7)
        made.append(dict(zip(KINDS, values, strict=True)))
    return made


def write_row_by_row(folder: Path, rows: Sequence[Row]) -> None:
    folder.mkdir()
    (folder / "t.jsonl").write_text("".join(map(json_line, rows)), encoding="utf-8", newline="\n")
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(list(KINDS.items()))
    options: dict[str, Any] = {"version": "2.6", "compression": "zstd", "compression_level": 3}
    with pq.ParquetWriter(folder / "t.parquet", schema, **options) as writer:
        for first in range(0, len(rows), release_tables.ROWS_PER_GROUP):
            group = rows[first : first + release_tables.ROWS_PER_GROUP]
            arrays = [
                pa.array([row[name] for row in group], TEXT if kind == DAY else kind).cast(kind)
                for name, kind in KINDS.items()
            ]
            writer.write_table(
                pa.Table.from_arrays(arrays, schema=schema), row_group_size=release_tables.ROWS_PER_GROUP
            )


@pytest.mark.parametrize("count", [0, 1, 7, 8, len(NASTY)])
@pytest.mark.parametrize(("per_group", "at_once"), [(4_000, 400), (8, 3), (4, 4), (1, 400)])
def test_rows_written_in_groups_are_the_same_bytes(tmp_path, monkeypatch, count, per_group, at_once):
    monkeypatch.setattr(release_tables, "ROWS_PER_GROUP", per_group)
    monkeypatch.setattr(release_tables, "LINES_AT_ONCE", at_once)
    some = rows()[:count]
    write_row_by_row(tmp_path / "plain", some)
    (tmp_path / "fast").mkdir()
    with ReleaseTable(tmp_path / "fast", "t", COLUMNS) as table:
        for row in some:
            table.add(row)
    assert table.count == count
    for name in ("t.jsonl", "t.parquet"):
        assert (tmp_path / "fast" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
