"""Find what comes twice in a long file, in little memory."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from types import TracebackType
from typing import Self

DIGEST_BYTES = 12
"""So that among a hundred million texts two share a digest with a probability of one in ten trillion."""

CACHE_KIB = 32_768


class Seen:
    """Texts that came before. They are kept on disk, in a file that is gone when this is closed."""

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

    def __contains__(self, text: str) -> bool:
        return self._table.execute("SELECT 1 FROM seen WHERE digest = ?", (_digest(text),)).fetchone() is not None

    def add(self, texts: Iterable[str]) -> None:
        self._table.executemany("INSERT OR IGNORE INTO seen VALUES (?)", ((_digest(text),) for text in texts))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()
