"""Whether an error means that the disk is full, from the system, SQLite, PostgreSQL or Redis."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator

NO_ROOM = "The server has no space left, so nothing was saved. Try again later."
RETRY_AFTER_S = 60
POSTGRES_DISK_FULL = "53100"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: BaseException | None) -> bool:
    """Also true if it is the cause of `error`."""
    return any(_says_so(each) for each in _chain(error))


def _says_so(error: BaseException) -> bool:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
    # Known by what they carry, not by class: to import psycopg and redis takes each process longer than Django itself.
    if type(error).__name__ == "ResponseError":
        # Redis begins so when it can no longer write to its files and refuses changes.
        return str(error).startswith("MISCONF")
    if isinstance(error, OSError):
        return error.errno in _FULL
    return getattr(error, "sqlstate", None) == POSTGRES_DISK_FULL


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
