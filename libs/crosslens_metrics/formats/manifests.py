"""Tables about images: which of the files beside images they are, and their lines."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import IO

from crosslens_metrics.formats.csv_records import csv_records
from crosslens_metrics.formats.layouts import FileKind, layout_of
from crosslens_metrics.formats.object_rows import Records
from crosslens_metrics.formats.parts import ZIP_MAGIC
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, head_of, json_records
from crosslens_metrics.formats.table_files import excel_records, parquet_records

NAMES = ("manifest.csv", "manifest.jsonl", "manifest.json")
"""What is called so is a manifest, whatever else is one."""
METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
"""What Hugging Face calls tables about the images beside them, in each folder of splits."""
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx")
COLUMNS = ("file", "file_name")
"""One of which names the file of an image."""


def may_be_manifest(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith(SUFFIXES)


def is_manifest(file: IO[bytes]) -> bool:
    """Whether a file is a table about images without captions."""
    try:
        return layout_of(file).kind == FileKind.IMAGES
    except FileRefusedError:
        return False


def called_manifest(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.rpartition("/")[2].lower() in NAMES]


def beside_images(names: Iterable[str], among: Collection[str]) -> list[str]:
    """The names of manifests that count, of those of all files `among` which they are.

    Only those at the top do, or else those in the only folder.
    """
    listed = list(names)
    top = [name for name in listed if "/" not in name]
    first_parts = {name.partition("/")[0] for name in among}
    return top or ([name for name in listed if name.count("/") == 1] if len(first_parts) == 1 else [])


def manifest_records(file: IO[bytes]) -> Records:
    """The lines of a manifest in any form; columns of a table are in lower case.

    Raises FileRefusedError where a table has no column with the files.
    """
    file.seek(0)
    start = file.read(4)
    if start == b"PAR1":
        return _plain(parquet_records(file))
    if start == ZIP_MAGIC:
        return _plain(excel_records(file))
    if head_of(file).lstrip().startswith((b"[", b"{")):
        return json_records(file)
    return _csv_records(file)


def _plain(records: Records) -> Iterator[LineRecord | LineError]:
    """Rows as JSON has them, so that a date in a cell is a text."""
    for record in records:
        if isinstance(record, LineRecord):
            value = json.loads(json.dumps(record.value, default=str))
            record = LineRecord(record.number, {name.strip().lower(): of for name, of in value.items()})
        yield record


def _csv_records(file: IO[bytes]) -> Iterator[LineRecord | LineError]:
    refusals: list[FileRefusedError] = []
    for column in COLUMNS:
        file.seek(0)
        rows = csv_records(file, column=column)
        try:
            first = next(rows, None)
        except FileRefusedError as refused:
            refusals.append(refused)
            continue
        return chain([first] if first is not None else [], rows)
    raise refusals[0]
