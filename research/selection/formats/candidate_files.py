"""Read a table of candidates one line at a time, however long it is; and tell what came before."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import IO, Any, Self

from django.utils.translation import gettext as _

from crosslens_metrics.formats.any_table import table_records
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import not_utf8
from research.selection.rules.candidates import (
    COLUMNS,
    CandidateFault,
    CandidateLine,
    ColumnsError,
    columns_of,
    read_line,
)

MAX_LINES = 20_000_000
"""Against files that unpack without end."""


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
    columns: dict[str, str] | None = None
    for number, record in enumerate(table_records(file), start=1):
        if isinstance(record, LineError):
            if record.reason == not_utf8():
                # Each name with an accent would be left out of a file in another encoding.
                raise FileRefusedError(record.reason)
            yield number, "", record
            continue
        if number > MAX_LINES:
            raise FileRefusedError(_("The file has more than %(limit)s lines. Split it.") % {"limit": MAX_LINES})
        columns = columns or _columns(record.value)
        given = {field: record.value.get(name) for field, name in columns.items()}
        values = {field: "" if value is None else str(value).strip() for field, value in given.items()}
        yield number, values["key"], read_line(values, needs_licence=needs_licence)


def _columns(value: Any) -> dict[str, str]:
    """Find the columns in the first row that can be read."""
    try:
        return columns_of(value if isinstance(value, dict) else ())
    except ColumnsError as error:
        names = "; ".join(" / ".join(COLUMNS[field]) for field in error.doubled or error.missing)
        if error.doubled:
            raise FileRefusedError(_("Keep only one of these columns: %(names)s.") % {"names": names}) from error
        raise FileRefusedError(_("These columns are missing: %(names)s.") % {"names": names}) from error


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
