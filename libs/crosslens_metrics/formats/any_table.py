"""The one reader of tables of plain values, whatever their form: CSV, Excel, Parquet, JSON and JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO

from crosslens_metrics.formats.csv_records import csv_records
from crosslens_metrics.formats.object_rows import Records
from crosslens_metrics.formats.parts import ZIP_MAGIC
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, head_of, json_records
from crosslens_metrics.formats.table_files import excel_records, parquet_records


def table_records(file: IO[bytes], columns: Sequence[str] = ()) -> Records:
    """The rows of a table as objects; names of columns are in lower case, but for those of JSON.

    - `columns`: of which the first line of a CSV file must name one.

    Raises FileRefusedError where it cannot be read, or names none of the columns.
    """
    file.seek(0)
    start = file.read(4)
    if start == b"PAR1":
        return _plain(parquet_records(file))
    if start == ZIP_MAGIC:
        return _plain(excel_records(file))
    if head_of(file).lstrip().startswith((b"[", b"{")):
        return json_records(file)
    return _csv_with(file, columns) if any(columns) else csv_records(file)


def _plain(records: Records) -> Iterator[LineRecord | LineError]:
    """Rows as JSON has them, so that a date in a cell is a text."""
    for record in records:
        if isinstance(record, LineRecord):
            value = json.loads(json.dumps(record.value, default=str))
            record = LineRecord(record.number, {name.strip().lower(): of for name, of in value.items()})
        yield record


def _csv_with(file: IO[bytes], columns: Sequence[str]) -> Iterator[LineRecord | LineError]:
    refusals: list[FileRefusedError] = []
    for column in filter(None, columns):
        file.seek(0)
        rows = csv_records(file, column=column)
        try:
            first = next(rows, None)
        except FileRefusedError as refused:
            refusals.append(refused)
            continue
        return chain([first] if first is not None else [], rows)
    raise refusals[0]
