"""Write tables of DuckDB to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def quoted(path: Path) -> str:
    """Quote a path for SQL, where it cannot be a parameter."""
    return str(path).replace("'", "''")


def write_table(database: DuckDBPyConnection, query: str, path: Path, *, options: str = "") -> int:
    """Write what `query` selects as Parquet, and return how many rows there are; `options` are more of COPY's."""
    row = database.execute(
        f"COPY ({query}) TO '{quoted(path)}' (FORMAT parquet, COMPRESSION zstd{options and ', ' + options})"
    ).fetchone()
    assert row is not None
    return int(row[0])
