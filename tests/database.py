"""The database of tests: a copy of one that holds what migrations leave, and how transactional tests leave it behind.

This is the one place that changes Django's own ways with test databases. A copy is never stale: it is named after each
package, and after migrations, models and what else it is made of.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from copy import deepcopy
from functools import cache
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import django
import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.creation import BaseDatabaseCreation
from django.db.transaction import atomic
from django.test import TransactionTestCase
from psycopg import sql

from tests.servers import ROOT, embedded_environment
from tools.demo.tables import create_tables

FOLDER = ROOT / ".pytest_cache" / "database"
PREFIX = "crosslens_migrated_"
LOCK = 7_402_115_603
"""The number by which processes that share a PostgreSQL take turns."""
SOURCES = (
    "*/migrations/*.py", "*/*/migrations/*.py", "*/models.py", "*/*/models.py", "*/models/*.py",
    "*/*/models/*.py", "*/apps.py", "*/*/apps.py", "config/*.py", "core/languages/rules/*.py",
    "tests/database.py", "tools/demo/tables.py",
)  # fmt: skip
"""What such a database depends on. Names of permissions and content types are from models."""
Rows = Any
"""Of one table: on PostgreSQL what COPY sends; on SQLite tuples."""
of_migrations: dict[str, Rows] = {}
"""The rows with which every test begins, by table."""


@contextmanager
def ours() -> Iterator[None]:
    """Let each process have a copy, and every test begin with the rows of migrations."""
    create: Callable[..., str] = BaseDatabaseCreation.create_test_db

    def copied(
        self: Any, verbosity: int = 1, autoclobber: bool = False, keepdb: bool = False, **_serialize: Any
    ) -> str:
        if keepdb:
            return create(self, verbosity, autoclobber, keepdb=keepdb)
        target: str = self._get_test_db_name()
        self.connection.close()
        if self.connection.vendor == "postgresql":
            _copy_on_server(self, target)
        else:
            copy_file(Path(target))
        settings.DATABASES[self.connection.alias]["NAME"] = self.connection.settings_dict["NAME"] = target
        call_command("createcachetable", database=self.connection.alias)
        of_migrations.update(read(self.connection))
        return target

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseCreation, "create_test_db", copied)
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _self: begin_anew(connection))
        yield


def begin_anew(database: BaseDatabaseWrapper) -> None:
    """Delete all rows but those of migrations.

    Django would empty all tables: TRUNCATE of a hundred takes PostgreSQL a second, and most are empty after a test.
    """
    with atomic(using=database.alias), database.cursor() as cursor:
        if database.vendor == "postgresql":
            # As a replica it minds neither references nor triggers.
            cursor.execute("SET LOCAL session_replication_role = replica")
        for name in _full(cursor, _tables(database)):
            cursor.execute(f"DELETE FROM {name}")  # noqa: S608
    write(database, of_migrations)


def read(database: BaseDatabaseWrapper) -> dict[str, Rows]:
    """Return the rows of each table of a model that has any, by its quoted name."""
    with database.cursor() as cursor:
        return {name: _rows(database, cursor, name) for name in _full(cursor, _tables(database))}


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


class KeptWorld:
    """What functions made in an empty database, to be had again in an empty database."""

    def __init__(self) -> None:
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
        if read(connection) != of_migrations:
            raise RuntimeError("Only what is made in an empty database can be kept.")
        found = make()
        tables = read(connection)
        if any(tables.pop(name) != rows for name, rows in of_migrations.items()):
            raise RuntimeError(f"{make} changes what migrations wrote.")
        self.made[make] = found, tables
        return deepcopy(found)


def _tables(database: BaseDatabaseWrapper) -> list[str]:
    return [database.ops.quote_name(name) for name in database.introspection.django_table_names(only_existing=True)]


def _full(cursor: Any, quoted: Iterable[str]) -> list[str]:
    """Those of the tables that have rows."""
    each = [f"SELECT * FROM (SELECT '{name}' FROM {name} LIMIT 1) one" for name in quoted]  # noqa: S608
    cursor.execute(" UNION ALL ".join(each))
    return [name for (name,) in cursor.fetchall()]


def _rows(database: BaseDatabaseWrapper, cursor: Any, quoted: str) -> Rows:
    if database.vendor == "postgresql":
        with cursor.copy(f"COPY {quoted} TO STDOUT") as copy:
            # Written again they come in another order.
            return b"".join(sorted(b"".join(copy).splitlines(keepends=True)))
    cursor.execute(f"PRAGMA table_info({quoted})")
    # The sign before a column keeps Django from making another value of what is stored.
    columns = ", ".join(f'+"{column[1]}"' for column in cursor.fetchall())
    cursor.execute(f"SELECT {columns} FROM {quoted}")  # noqa: S608
    return cursor.fetchall()


@cache
def name() -> str:
    return PREFIX + digest()[:20]


def digest() -> str:
    found = sha256()
    versions = {(package.metadata["Name"], package.version) for package in distributions()}
    found.update(repr((sys.version, sqlite3.sqlite_version, sorted(versions))).encode())
    for path in sorted({path for pattern in SOURCES for path in ROOT.glob(pattern)}):
        content = path.read_bytes()
        found.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return found.hexdigest()


def copy_file(target: Path) -> None:
    """Copy such a SQLite database to `target`; the first to ask makes it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = FOLDER / f"{name()}.sqlite3"
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for old in FOLDER.glob(f"{PREFIX}*"):
                old.unlink()
            _make_file(kept)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, target)


def _make_file(kept: Path) -> None:
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        environment = embedded_environment(Path(folder))
        subprocess.run([sys.executable, "-m", "tests.database"], check=True, cwd=ROOT, env=environment)
        whole = Path(folder) / "whole"
        # What is still in its log comes along.
        with (
            closing(sqlite3.connect(Path(folder) / "crosslens.sqlite3")) as source,
            closing(sqlite3.connect(whole)) as copy,
        ):
            source.backup(copy)
        whole.replace(kept)


def _copy_on_server(creation: Any, target: str) -> None:
    copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    with psycopg.connect(os.environ["TEST_DATABASE_URL"], autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        found = {row[0] for row in server.execute("SELECT datname FROM pg_database").fetchall()}
        if name() in found:
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(target)))
            server.execute(copy.format(sql.Identifier(target), sql.Identifier(name())))
            return
        for old in found:
            if old.startswith(PREFIX):
                server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(old)))
        creation._create_test_db(verbosity=0, autoclobber=True)
        creation.connection.close()
        creation.connection.settings_dict["NAME"] = target
        create_tables(creation.connection)
        creation.connection.close()
        server.execute(copy.format(sql.Identifier(name()), sql.Identifier(target)))


if __name__ == "__main__":
    django.setup()
    create_tables(connection)
