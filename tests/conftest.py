"""What every test may ask for. `pytest` runs on SQLite; `pytest --ds=tests.settings_postgres` on PostgreSQL."""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.utils import translation
from psycopg import sql

from annotation.selectors.work import language_of
from core.languages.rules.catalogues import build_messages
from core.people import tasks
from core.people.models import Project
from tests import database, servers
from tests.clients import client_of
from tests.factories import make_project

pytest_plugins = ["tests.tiers", "tests.costs", "tests.leftovers"]
T = TypeVar("T")


def pytest_configure(config: pytest.Config) -> None:
    """Collect no garbage while tests are collected, and later seldom, and not among what was there before the first.

    Both together took a fifth of the time.
    """
    gc.disable()
    if not hasattr(config, "workerinput"):
        build_messages()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> Iterator[None]:
    with database.ours():
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


@pytest.fixture(scope="module")
def _kept_world() -> database.KeptWorld:
    return database.KeptWorld()


@pytest.fixture
def made_once(_kept_world: database.KeptWorld, db: None) -> Callable[[Callable[[], T]], T]:
    """`made_once(make)`: what `make()` returns and writes into tables that are empty, made once for a file's tests."""
    return _kept_world.get


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


@pytest.fixture
def project() -> Project:
    return make_project("lions")


@pytest.fixture
def manager(project: Project) -> Client:
    """The browser of who manages it."""
    return client_of(project.created_by)
