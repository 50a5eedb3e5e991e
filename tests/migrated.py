"""A database as migrations leave it (tests/tables.py), made once and then copied.

A copy is never stale: it is named after each package, and after migrations, models and what else they are made of.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db.backends.base.creation import BaseDatabaseCreation
from psycopg import sql

from tests import tables
from tests.servers import ROOT, embedded_environment

FOLDER = ROOT / ".pytest_cache" / "migrated"
PREFIX = "crosslens_migrated_"
LOCK = 7_402_115_603
"""The number by which processes that share a PostgreSQL take turns."""
SOURCES = (
    "*/migrations/*.py", "*/models.py", "*/models/*.py", "*/apps.py", "config/*.py", "languages/rules/*.py",
    "tests/tables.py",
)  # fmt: skip
"""What such a database depends on. Names of permissions and content types are from models."""
Create = Callable[..., str]


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
        subprocess.run([sys.executable, "-m", "tests.tables"], check=True, cwd=ROOT, env=environment)
        whole = Path(folder) / "whole"
        # What is still in its log comes along.
        with (
            closing(sqlite3.connect(Path(folder) / "crosslens.sqlite3")) as source,
            closing(sqlite3.connect(whole)) as copy,
        ):
            source.backup(copy)
        whole.replace(kept)


@contextmanager
def copies_for_tests() -> Iterator[None]:
    """Let the database of each process of tests be a copy."""
    create: Create = BaseDatabaseCreation.create_test_db

    def copied(
        self: BaseDatabaseCreation,
        verbosity: int = 1,
        autoclobber: bool = False,
        serialize: bool = True,
        keepdb: bool = False,
    ) -> str:
        if keepdb:
            return create(self, verbosity, autoclobber, serialize, keepdb)
        target: str = self._get_test_db_name()  # type: ignore[attr-defined]
        self.connection.close()
        if self.connection.vendor == "postgresql":
            _copy_on_server(self, target)
        else:
            copy_file(Path(target))
        settings.DATABASES[self.connection.alias]["NAME"] = target
        self.connection.settings_dict["NAME"] = target
        if serialize:
            # Django would read each object: see rows_of_migrations in tests/conftest.py.
            self.connection._test_serialized_contents = "[]"  # type: ignore[attr-defined]
        call_command("createcachetable", database=self.connection.alias)
        self.connection.ensure_connection()
        return target

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseCreation, "create_test_db", copied)
        yield


def _copy_on_server(creation: BaseDatabaseCreation, target: str) -> None:
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
        creation._create_test_db(verbosity=0, autoclobber=True)  # type: ignore[attr-defined]
        creation.connection.close()
        creation.connection.settings_dict["NAME"] = target
        tables.create(creation.connection)
        creation.connection.close()
        server.execute(copy.format(sql.Identifier(name()), sql.Identifier(target)))
