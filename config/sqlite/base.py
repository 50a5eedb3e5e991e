"""SQLite, where those who wait to write all have the same chance.

SQLite has one writer. When it is busy, SQLite waits longer before each new try, up to 100 ms, so those who have waited
longest try least often: docs/decisions/0009-sqlite.md has what that cost.
"""

from __future__ import annotations

import sqlite3
import time

from django.db.backends.sqlite3 import base
from django.db.backends.utils import debug_transaction

LOOK_AGAIN_S = 0.002


class DatabaseWrapper(base.DatabaseWrapper):
    def _start_transaction_under_autocommit(self) -> None:
        timeout_s = self.settings_dict["OPTIONS"]["timeout"]
        last = time.monotonic() + timeout_s
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            while time.monotonic() < last:
                if self._begins():
                    return
                time.sleep(LOOK_AGAIN_S)
            # As Django, whose errors are counted.
            super()._start_transaction_under_autocommit()  # type: ignore[misc] # the stubs leave it out
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {round(1000 * timeout_s)}")

    def _begins(self) -> bool:
        with self.wrap_database_errors:
            try:
                self.connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                    return False
                raise
        # In the list of queries, where Django's would be.
        with debug_transaction(self, "BEGIN IMMEDIATE"):
            return True
