"""What every test may ask for. `pytest` runs on SQLite; `pytest --ds=tests.settings_postgres` on PostgreSQL."""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.backends.base.creation import BaseDatabaseCreation
from django.db.backends.postgresql.operations import DatabaseOperations
from django.utils import translation
from psycopg import sql
from pytest_django import DjangoDbBlocker

from annotation.selectors.work import language_of
from languages.models import Language
from people import tasks
from tests import migrated, rows, servers

pytest_plugins = ["tests.tiers", "tests.leftovers"]
T = TypeVar("T")
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}
ON_SQLITE_ALONE = tuple(
    Path(__file__).parent / name for name in ("browser", "charts", "geography", "leaks", "metrics", "parallel_text")
)
"""Folders of which nothing runs on PostgreSQL: to collect them takes a third of the time."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if _is_on_postgres() and collection_path in ON_SQLITE_ALONE else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark browser tests, keep what migrations wrote, and on PostgreSQL run only what touches the database."""
    for item in items:
        if _is_transactional(item):
            # Such tests empty every table afterwards; the next one begins with what migrations wrote.
            item.add_marker(pytest.mark.django_db(transaction=True, serialized_rollback=True), append=False)
        if "page" in getattr(item, "fixturenames", ()) or "/browser/" in item.nodeid:
            item.add_marker("browser")
    # pytest-django sees to it, but parametrised fixtures of a session bring tests together again.
    # Processes of xdist keep this order as long as they are handed tests from the front: not with `--dist worksteal`.
    # What takes long begins first, so that no process of xdist waits for another one's at the end.
    items.sort(key=lambda item: (_is_transactional(item), item.get_closest_marker("slow") is None))
    for file in config.pluginmanager.get_plugin("tests.tiers").RUN_BY_ONE_PROCESS:
        if len({_is_transactional(item) for item in items if item.nodeid.startswith(f"{file}::")}) > 1:
            raise pytest.UsageError(f"{file} is run by one process, all at once: transactional tests go elsewhere")
    if not _is_on_postgres():
        for item in items:
            if _runs_on_postgres(item) and set(item.path.parents) & set(ON_SQLITE_ALONE):
                raise pytest.UsageError(f"{item.nodeid} runs on PostgreSQL, in a folder of ON_SQLITE_ALONE")
        return
    config.hook.pytest_deselected(items=[item for item in items if not _runs_on_postgres(item)])
    items[:] = [item for item in items if _runs_on_postgres(item)]


def pytest_collection_finish() -> None:
    """Collect garbage less often, and not among what was there before the first test: it took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _is_on_postgres() -> bool:
    return "postgresql" in settings.DATABASES["default"]["ENGINE"]


def _is_transactional(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("django_db")
    names = set(getattr(item, "fixturenames", ()))
    return bool(marker and marker.kwargs.get("transaction")) or bool({"transactional_db", "live_server"} & names)


def _runs_on_postgres(item: pytest.Item) -> bool:
    if item.get_closest_marker("both_databases"):
        return True
    if item.get_closest_marker("browser") or item.get_closest_marker("sqlite_only"):
        return False
    return bool(item.get_closest_marker("django_db") or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> Iterator[None]:
    """Every process of xdist has a copy of one migrated database."""
    with migrated.copies_for_tests():
        yield


@pytest.fixture(scope="session", autouse=True)
def _only_full_tables_are_emptied() -> Iterator[None]:
    """TRUNCATE of a hundred tables takes PostgreSQL a second, and most are empty after a test."""

    def sql_flush(self: DatabaseOperations, style: Any, tables: Sequence[str], **_options: Any) -> list[Any]:
        row = sql.SQL("(SELECT {} FROM {} LIMIT 1)")
        with self.connection.cursor() as cursor:
            cursor.execute(sql.SQL(" UNION ALL ").join(row.format(name, sql.Identifier(name)) for name in tables))
            full = [sql.Identifier(name) for (name,) in cursor.fetchall()]
        # As a replica it minds neither references nor triggers.
        return ["SET LOCAL session_replication_role = replica", *map(sql.SQL("DELETE FROM {}").format, full)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        yield


@pytest.fixture(autouse=True)
def _fresh_start() -> None:
    """Counts of failed sign-ins end with the test that made them, and what is known of rounds, whose keys recur."""
    cache.clear()
    language_of.cache_clear()
    # A request leaves its language to the thread it ran in.
    translation.activate(settings.LANGUAGE_CODE)


@pytest.fixture(autouse=True)
def _mails_are_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have no worker."""
    for task in (tasks.send_reset, tasks.send_confirmation):
        monkeypatch.setattr(task, "delay_on_commit", task)


@pytest.fixture(scope="session")
def rows_of_migrations(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Mapping[str, rows.Rows]]:
    """Put the rows of migrations back as they are stored: Django makes and saves an object for each of hundreds."""
    with django_db_blocker.unblock():
        of_migrations = rows.read(connection)

    def put_back(self: BaseDatabaseCreation, _data: str) -> None:
        rows.write(self.connection, of_migrations)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseCreation, "deserialize_db_from_string", put_back)
        yield of_migrations


@pytest.fixture(scope="module")
def _kept_rows(rows_of_migrations: Mapping[str, rows.Rows]) -> rows.Kept:
    return rows.Kept(rows_of_migrations)


@pytest.fixture
def made_once(_kept_rows: rows.Kept, db: None) -> Callable[[Callable[[], T]], T]:
    """`made_once(make)`: what `make()` returns and writes into tables that are empty, made once for a file's tests."""
    return _kept_rows.get


@pytest.fixture(autouse=True)
def _tables_begin_as_migrations_left_them(request: pytest.FixtureRequest) -> None:
    """Let every transactional test begin with the rows of migrations.

    Django asks the connection that made the database for them, and Playwright's event loop gets another.
    """
    if _is_transactional(request.node):
        of_migrations = request.getfixturevalue("rows_of_migrations")
        connection._test_serialized_contents = "see rows_of_migrations"  # type: ignore[attr-defined]
        request.getfixturevalue("transactional_db")
        if not Language.objects.exists():
            # The database was set up before this fixture, on a connection that does not know of the rows.
            rows.write(connection, of_migrations)


@pytest.fixture
def media(settings: Any, tmp_path: Path) -> Path:
    """A storage of this test's own; returns its folder."""
    folder = tmp_path / "media"
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": folder}}
    }
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The URL of a PostgreSQL in which databases can be made."""
    return os.environ.get("TEST_DATABASE_URL") or servers.start_postgres()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of a new, empty database, dropped after the test."""
    name = f"crosslens_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield postgres_server.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real Redis: the one at TEST_REDIS_URL, the system's, or one from a wheel."""
    if given := os.environ.get("TEST_REDIS_URL"):
        yield given
        return
    executable = servers.find_redis()
    if not executable:
        servers.missing("Redis (redis-server)")
        return
    process, url = servers.start_redis(executable, tmp_path_factory.mktemp("redis"))
    yield url
    process.terminate()
    process.wait()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium, which neither looks for updates nor needs a sandbox of its own."""
    executable = servers.find_chromium()
    if not executable:
        servers.missing("Chromium")
    return {
        **browser_type_launch_args,
        "executable_path": executable,
        "args": ["--no-sandbox", "--disable-background-networking"],
    }


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """Without service workers: `page.route` would not see what a page asks for past one."""
    return {**browser_context_args, "locale": "en-GB", "reduced_motion": "reduce", "service_workers": "block"}
