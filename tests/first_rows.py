"""What migrations wrote into the tables, as the database stores it: read once, written again as often as needed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import atomic

Rows = Any
"""Of one table: on PostgreSQL what COPY sends; on SQLite tuples."""


def read(connection: BaseDatabaseWrapper) -> dict[str, Rows]:
    """Return the rows of each table of a model that has any, by its quoted name."""
    names = map(connection.ops.quote_name, connection.introspection.django_table_names(only_existing=True))
    found: dict[str, Rows]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            found = {name: _copy(cursor, name) for name in names}
    else:
        # Without Django's conversions, which would make other values of some.
        with closing(sqlite3.connect(connection.settings_dict["NAME"])) as plain:
            found = {name: plain.execute(f"SELECT * FROM {name}").fetchall() for name in names}  # noqa: S608
    return {name: rows for name, rows in found.items() if rows}


def write(connection: BaseDatabaseWrapper, tables: dict[str, Rows]) -> None:
    """Write the rows of those `tables` that are empty now. References may lead from one to a later one."""
    with atomic(using=connection.alias), connection.cursor() as cursor:
        for name, rows in tables.items():
            cursor.execute(f"SELECT 1 FROM {name} LIMIT 1")  # noqa: S608
            if cursor.fetchone():
                continue
            if connection.vendor == "postgresql":
                with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                    copy.write(rows)
            else:
                values = ", ".join(["%s"] * len(rows[0]))
                cursor.executemany(f"INSERT INTO {name} VALUES ({values})", rows)  # noqa: S608


def _copy(cursor: Any, name: str) -> bytes:
    with cursor.copy(f"COPY {name} TO STDOUT") as copy:
        return b"".join(copy)
