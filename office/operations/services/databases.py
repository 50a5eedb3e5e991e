"""Taking a snapshot of the database while people work, and restoring one, all or nothing."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection
from psycopg import sql

from office.operations.rules.manifest import BackupError

WAIT_S = 20
ASIDE = "crosslens_before_restore"
"""The schema in which a database's tables wait until those of the backup are there."""

LIBPQ = {"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY"}
DEBIAN_PROGRAMS = Path("/usr/lib/postgresql")


@dataclass(frozen=True)
class DatabaseSnapshot:
    server: str
    rows: Mapping[str, int]
    migrations: tuple[str, ...]


def engine() -> str:
    return connection.vendor


def dump(path: Path) -> DatabaseSnapshot:
    """Write the database as it is at one moment to `path`, without blocking anybody."""
    return _dump_postgres(path) if engine() == "postgresql" else _dump_sqlite(path)


def load(path: Path, *, rows: Mapping[str, int]) -> None:
    """Replace the database with the one in `path`.

    If it fails, or has not as many `rows` in each table as it should, the old contents are restored.
    """
    connection.close()
    if engine() == "postgresql":
        _load_postgres(path, rows)
    else:
        _load_sqlite(path, rows)


def _require(rows: Mapping[str, int], counted: Mapping[str, int]) -> None:
    if different := sorted(table for table in {*counted, *rows} if counted.get(table) != rows.get(table)):
        said = ", ".join(different)[:300]
        raise BackupError(f"The numbers of rows in the database differ from the backup, in {said}. Use another backup.")


def tables() -> list[str]:
    """Return the existing tables."""
    if engine() == "postgresql":
        with _connected() as postgres:
            return _tables_of(postgres)
    path = Path(str(connection.settings_dict["NAME"]))
    if not path.exists():
        return []
    with closing(sqlite3.connect(path, timeout=WAIT_S)) as database:
        return _tables_of_sqlite(database)


def others_connected() -> int:
    """Return who else is connected; SQLite does not know, but refuses what would disturb them."""
    if engine() != "postgresql":
        return 0
    connection.close()
    with _connected() as postgres:
        query = (
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        row = postgres.execute(query).fetchone()
        return int(row[0]) if row else 0


# PostgreSQL


def _dump_postgres(path: Path) -> DatabaseSnapshot:
    with _connected() as postgres:
        postgres.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        postgres.read_only = True
        # Counted in the snapshot that the other program writes.
        exported = postgres.execute("SELECT pg_export_snapshot()").fetchone()
        assert exported is not None
        major = postgres.info.server_version // 10_000
        _run(
            [
                _program("pg_dump", major),
                *("--format", "custom", "--no-owner", "--no-privileges"),
                *("--snapshot", exported[0], "--file", str(path)),
            ]
        )
        migrations = postgres.execute("SELECT app, name FROM django_migrations ORDER BY app, name").fetchall()
        return DatabaseSnapshot(
            f"PostgreSQL {major}", _rows_of(postgres), tuple(f"{app}.{name}" for app, name in migrations)
        )


def _load_postgres(path: Path, rows: Mapping[str, int]) -> None:
    with _connected() as postgres:
        major = postgres.info.server_version // 10_000
        program = _program("pg_restore", major)
        aside = sql.Identifier(ASIDE)
        if postgres.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (ASIDE,)).fetchone():
            raise BackupError(
                f"The schema {ASIDE} is there: a restore was ended by force, and what was there before it waits in it. "
                f"Drop one of the two: DROP SCHEMA public CASCADE; ALTER SCHEMA {ASIDE} RENAME TO public; brings it "
                f"back, DROP SCHEMA {ASIDE} CASCADE; gives it up. Then run this again."
            )
        postgres.execute(sql.SQL("ALTER SCHEMA public RENAME TO {}").format(aside))
        postgres.execute("CREATE SCHEMA public")
        postgres.commit()
        try:
            database = str(connection.settings_dict["NAME"])
            whole = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", "--schema", "public"]
            _run([program, *whole, "--dbname", database, str(path)])
            _require(rows, _rows_of(postgres))
        except BaseException:
            postgres.execute("DROP SCHEMA public CASCADE")
            postgres.execute(sql.SQL("ALTER SCHEMA {} RENAME TO public").format(aside))
            postgres.commit()
            raise
        postgres.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(aside))
        postgres.commit()
        postgres.autocommit = True
        # Without statistics, the first queries take long.
        postgres.execute("ANALYZE")


def _connected() -> psycopg.Connection[Any]:
    parameters = connection.get_connection_params()
    known = {"host", "port", "user", "password", "dbname", "connect_timeout", *LIBPQ}
    try:
        return psycopg.connect(**{name: value for name, value in parameters.items() if name in known})
    except psycopg.OperationalError as error:
        raise BackupError("The database does not answer. Start it, and look whether DATABASE_URL is right.") from error


def _tables_of(postgres: psycopg.Connection[Any]) -> list[str]:
    tables = postgres.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")
    return [name for (name,) in tables.fetchall()]


def _rows_of(postgres: psycopg.Connection[Any]) -> dict[str, int]:
    rows = {}
    for table in _tables_of(postgres):
        counted = postgres.execute(sql.SQL("SELECT count(*) FROM public.{}").format(sql.Identifier(table))).fetchone()
        rows[table] = int(counted[0]) if counted else 0
    return rows


def _program(name: str, server: int) -> str:
    """Return a program that knows this server: at least of its version."""
    newest_first = sorted(DEBIAN_PROGRAMS.glob(f"*/bin/{name}"), key=lambda path: -_major_of(path.parents[1].name))
    for program in (shutil.which(name), *map(str, newest_first)):
        if program and _major_of(_run([program, "--version"])) >= server:
            return program
    raise BackupError(
        f"{name} of PostgreSQL {server} or newer is not here, and this one makes and reads the copies. "
        f"Install it (on Debian: apt-get install postgresql-client-{server}) or put it into PATH."
    )


def _major_of(text: str) -> int:
    number = re.search(r"\d+", text)
    return int(number[0]) if number else 0


def _run(command: list[str]) -> str:
    parameters = connection.settings_dict
    options = parameters.get("OPTIONS", {})
    given = {
        "PGHOST": parameters["HOST"] or options.get("host", ""),
        "PGPORT": str(parameters["PORT"] or ""),
        "PGUSER": parameters["USER"],
        # Not on the command line, which everybody on the machine can read.
        "PGPASSWORD": parameters["PASSWORD"],
        "PGDATABASE": str(parameters["NAME"]),
        **{theirs: str(options[ours]) for ours, theirs in LIBPQ.items() if ours in options},
    }
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **{name: value for name, value in given.items() if value}}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise BackupError(f"{Path(command[0]).name} failed: {(lines or ['it says nothing'])[0][:300]}")
    return done.stdout


# SQLite


def _dump_sqlite(path: Path) -> DatabaseSnapshot:
    with (
        closing(sqlite3.connect(str(connection.settings_dict["NAME"]), timeout=WAIT_S)) as source,
        closing(sqlite3.connect(path)) as copy,
    ):
        # In one step: with the write-ahead log, nobody waits for it.
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        if copy.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise BackupError(
                "The database is damaged: PRAGMA quick_check finds errors in it. Restore an older backup."
            )
        migrations = copy.execute("SELECT app, name FROM django_migrations ORDER BY app, name").fetchall()
        applied = tuple(f"{app}.{name}" for app, name in migrations)
        return DatabaseSnapshot(f"SQLite {sqlite3.sqlite_version}", _rows_of_sqlite(copy), applied)


def _load_sqlite(path: Path, rows: Mapping[str, int]) -> None:
    target = Path(str(connection.settings_dict["NAME"]))
    target.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as copy, closing(sqlite3.connect(target, timeout=WAIT_S)) as database:
        _require(rows, _rows_of_sqlite(copy))
        # One transaction of the target: interrupted, it changes nothing.
        copy.backup(database, progress=_refuse_if_busy)


def _refuse_if_busy(status: int, _remaining: int, _total: int) -> None:
    """Stop after a step that waited `WAIT_S` in vain; otherwise it would be retried for ever."""
    if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        raise BackupError("The database is in use. Stop everything that uses it, then run this again.")


def _tables_of_sqlite(database: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    return [name for (name,) in database.execute(query)]


def _rows_of_sqlite(database: sqlite3.Connection) -> dict[str, int]:
    def count(table: str) -> int:
        quoted = table.replace('"', '""')
        return int(database.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0])  # noqa: S608

    return {table: count(table) for table in _tables_of_sqlite(database)}
