"""Rows as the database stores them: read once, written again as often as needed, without an object for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import atomic

Rows = Any
"""Of one table: on PostgreSQL what COPY sends; on SQLite tuples."""


def read(database: BaseDatabaseWrapper) -> dict[str, Rows]:
    """Return the rows of each table of a model that has any, by its quoted name."""
    with database.cursor() as cursor:
        names = database.introspection.django_table_names(only_existing=True)
        return {name: _rows(cursor, name) for name in _full(cursor, map(database.ops.quote_name, names))}


def write(database: BaseDatabaseWrapper, tables: Mapping[str, Rows]) -> None:
    """Write the rows of those `tables` that are empty now. References may lead from one to a later one."""
    with atomic(using=database.alias), database.cursor() as cursor:
        for name in tables.keys() - _full(cursor, tables):
            rows = tables[name]
            if database.vendor == "postgresql":
                with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                    copy.write(rows)
            else:
                values = ", ".join(["%s"] * len(rows[0]))
                cursor.executemany(f"INSERT INTO {name} VALUES ({values})", rows)  # noqa: S608


class Kept:
    """What functions made in an empty database, to be had again in an empty database."""

    def __init__(self, of_migrations: Mapping[str, Rows]) -> None:
        self.of_migrations = of_migrations
        self.made: dict[Any, tuple[Any, dict[str, Rows]]] = {}

    def get(self, make: Any) -> Any:
        """Return what `make` returns, and leave the rows that it makes; call it the first time only.

        Raises
        ------
        RuntimeError
            When there are other rows than those of migrations, or when `make` changed those.
        """
        if make in self.made:
            found, tables = self.made[make]
            write(connection, tables)
            return deepcopy(found)
        if read(connection) != self.of_migrations:
            raise RuntimeError("Only what is made in an empty database can be kept.")
        found = make()
        tables = read(connection)
        if any(tables.pop(name) != rows for name, rows in self.of_migrations.items()):
            raise RuntimeError(f"{make} changes what migrations wrote.")
        self.made[make] = found, tables
        return deepcopy(found)


def _full(cursor: Any, quoted: Iterable[str]) -> list[str]:
    """Those of the tables that have rows."""
    each = [f"SELECT * FROM (SELECT '{name}' FROM {name} LIMIT 1) one" for name in quoted]  # noqa: S608
    cursor.execute(" UNION ALL ".join(each))
    return [name for (name,) in cursor.fetchall()]


def _rows(cursor: Any, quoted: str) -> Rows:
    if connection.vendor == "postgresql":
        with cursor.copy(f"COPY {quoted} TO STDOUT") as copy:
            return b"".join(copy)
    cursor.execute(f"PRAGMA table_info({quoted})")
    # The sign before a column keeps Django from making another value of what is stored.
    columns = ", ".join(f'+"{column[1]}"' for column in cursor.fetchall())
    cursor.execute(f"SELECT {columns} FROM {quoted}")  # noqa: S608
    return cursor.fetchall()
