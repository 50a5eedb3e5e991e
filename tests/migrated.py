"""A migrated database, made once and then copied: to migrate one from nothing takes eight seconds of a processor.

A copy is never stale: it is named after all that migrations and what they call are made of, and after each package.
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

from tests.servers import ROOT, embedded_environment
from tests.sources import PRODUCT

FOLDER = ROOT / ".pytest_cache" / "migrated"
PREFIX = "crosslens_migrated_"
LOCK = 7_402_115_603
"""The number by which processes that share a PostgreSQL take turns."""
Create = Callable[..., str]


@cache
def name() -> str:
    return PREFIX + digest()[:20]


def digest() -> str:
    found = sha256()
    versions = {(package.metadata["Name"], package.version) for package in distributions()}
    found.update(repr((sys.version, sqlite3.sqlite_version, sorted(versions))).encode())
    for path in sorted(path for folder in PRODUCT for path in (ROOT / folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = path.read_bytes()
            found.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return found.hexdigest()


def copy_file(target: Path) -> None:
    """Copy a migrated SQLite database to `target`; the first to ask migrates it, as an installation does."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = FOLDER / f"{name()}.sqlite3"
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for old in FOLDER.glob(f"{PREFIX}*"):
                old.unlink()
            _migrate_file(kept)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, target)


def _migrate_file(kept: Path) -> None:
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        environment = embedded_environment(Path(folder))
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", "--no-input"]
        subprocess.run(command, check=True, cwd=ROOT, env=environment)
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
            _copy_on_server(self, target, create)
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


def _copy_on_server(creation: BaseDatabaseCreation, target: str, create: Create) -> None:
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
        create(creation, verbosity=0, autoclobber=True, serialize=False)
        creation.connection.close()
        server.execute(copy.format(sql.Identifier(name()), sql.Identifier(target)))
