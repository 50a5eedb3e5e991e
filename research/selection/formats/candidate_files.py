"""Read a table of candidates one line at a time, however long it is; and tell what came before."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from types import TracebackType
from typing import IO, Self

from django.utils.translation import gettext as _

from crosslens_metrics.formats.any_table import table_records
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, not_utf8
from research.selection.rules.candidates import (
    COLUMNS,
    REQUIRED,
    CandidateFault,
    CandidateLine,
    DoubledColumnsError,
    columns_of,
    missing_columns,
    read_line,
)

MAX_LINES = 20_000_000
"""Against files that unpack without end."""
FIRST_RECORDS = 20
"""Of a file, in which its columns show: an object of JSON may lack some."""


def sha256_of(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def candidate_lines(
    file: IO[bytes], *, needs_licence: bool
) -> Iterator[tuple[int, str, CandidateLine | CandidateFault | LineError]]:
    """Yield the number of each line, what to call it, and the candidate or what keeps it out.

    Lines are counted from 1, the first after the header; a line within quotes counts as part of its row. What the
    reader of tables cannot read keeps its reason.

    Raises FileRefusedError where the file is no table of candidates.
    """
    records = table_records(file)
    first = list(islice(records, FIRST_RECORDS))
    _check_required(first)
    known: dict[tuple[str, ...], dict[str, str]] = {}
    for number, record in enumerate(chain(first, records), start=1):
        if isinstance(record, LineError):
            if record.reason == not_utf8():
                # Each name with an accent would be left out of a file in another encoding.
                raise FileRefusedError(record.reason)
            yield number, "", record
            continue
        if number > MAX_LINES:
            raise FileRefusedError(_("The file has more than %(limit)s lines. Split it.") % {"limit": MAX_LINES})
        if not isinstance(record.value, dict):
            yield number, "", CandidateFault.UNREADABLE
            continue
        names = tuple(record.value)
        if names not in known:
            known[names] = _columns(names)
        given = dict.fromkeys(REQUIRED) | {field: record.value[name] for field, name in known[names].items()}
        values = {field: "" if value is None else str(value).strip() for field, value in given.items()}
        yield number, values["key"], read_line(values, needs_licence=needs_licence)


def _check_required(records: Sequence[LineRecord | LineError]) -> None:
    """Raises FileRefusedError where none of the rows that can be read has a column that is needed."""
    values = [record.value for record in records if isinstance(record, LineRecord)]
    if values and (missing := missing_columns(name for one in values if isinstance(one, dict) for name in one)):
        raise FileRefusedError(_("These columns are missing: %(names)s.") % {"names": _named(missing)})


def _columns(names: Iterable[str]) -> dict[str, str]:
    try:
        return columns_of(names)
    except DoubledColumnsError as error:
        text = _("Keep only one of these columns: %(names)s.")
        raise FileRefusedError(text % {"names": _named(error.fields)}) from error


def _named(fields: Iterable[str]) -> str:
    return "; ".join(" / ".join(COLUMNS[field]) for field in fields)


DIGEST_BYTES = 12
"""So that among a hundred million texts two share a digest with a probability of one in ten trillion."""

CACHE_KIB = 32_768
PARAMETERS = 500


class SeenTexts:
    """Texts that came before. They are kept on disk, in a file that is gone when this is closed.

    Ask for and add many at a time: in the order of their digests they share pages of the file.
    """

    def __init__(self) -> None:
        self._table = sqlite3.connect("", isolation_level=None)
        self._table.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._table.execute("PRAGMA journal_mode = OFF")
        self._table.execute("CREATE TABLE seen (digest BLOB PRIMARY KEY) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._table.close()

    def among(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those of `digests` that came before."""
        return set(self._found(sorted(digests)))

    def add(self, digests: Iterable[bytes]) -> None:
        with self._table:
            self._table.execute("BEGIN")
            self._table.executemany("INSERT OR IGNORE INTO seen VALUES (?)", ((one,) for one in sorted(digests)))

    def _found(self, digests: list[bytes]) -> Iterator[bytes]:
        for start in range(0, len(digests), PARAMETERS):
            some = digests[start : start + PARAMETERS]
            marks = ",".join("?" * len(some))
            query = f"SELECT digest FROM seen WHERE digest IN ({marks})"  # noqa: S608 marks alone
            yield from (row[0] for row in self._table.execute(query, some))


def digest_of(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()
