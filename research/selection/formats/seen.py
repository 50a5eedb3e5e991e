"""Find what comes twice in a long file, in little memory."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

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
