"""Read tables of DuckDB from files, and write them. Paths are parameters, whatever their names hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PARQUET = "CREATE MACRO parquet(files) AS TABLE FROM read_parquet(files, hive_partitioning := false)"
"""Reads Parquet files; a folder called `n=3` adds no column."""

ROWS_AT_ONCE = 10_000
NOTHING: Mapping[str, Any] = {}


def make_view(database: DuckDBPyConnection, name: str, paths: Iterable[Path]) -> None:
    """Make a view of Parquet files: the statement that makes one takes no parameters."""
    database.read_parquet([str(path) for path in paths], hive_partitioning=False).create_view(name)


def write_table(
    database: DuckDBPyConnection, query: str, path: Path, values: Mapping[str, Any] = NOTHING, *, options: str = ""
) -> int:
    """Write what `query` selects with `values` as Parquet, and return how many rows there are.

    `options` are more of COPY's.
    """
    row = database.execute(
        f"COPY ({query}) TO $written_to (FORMAT parquet, COMPRESSION zstd{options and ', ' + options})",
        {**values, "written_to": str(path)},
    ).fetchone()
    assert row is not None
    return int(row[0])


def rows_of(result: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """Give the rows that were selected, some at a time."""
    while rows := result.fetchmany(ROWS_AT_ONCE):
        yield from rows


def records_of(result: DuckDBPyConnection) -> Iterator[dict[str, Any]]:
    """Give the rows that were selected, each by the names of its columns."""
    columns = [column[0] for column in result.description or ()]
    for row in rows_of(result):
        yield dict(zip(columns, row, strict=True))
