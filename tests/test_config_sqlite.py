"""Writers of SQLite wait for each other, and have the rest of Django's behaviour."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.db.backends.sqlite3.base import DatabaseWrapper as DjangoWrapper
from django.db.utils import ConnectionHandler
from django.test.utils import CaptureQueriesContext

from config.sqlite.base import DatabaseWrapper

pytestmark = pytest.mark.django_db
Connect = Callable[..., Any]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    made = []

    def connect(timeout: float = 20.0) -> Any:
        options = {"timeout": timeout, "transaction_mode": "IMMEDIATE"}
        database = {"ENGINE": "config.sqlite", "NAME": str(tmp_path / "db.sqlite3"), "OPTIONS": options}
        one = ConnectionHandler({"default": database}).create_connection("default")
        one.inc_thread_sharing()
        made.append(one)
        return one

    yield connect
    for one in made:
        one.close()


def begin(database: Any) -> None:
    database.ensure_connection()
    database.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def end(database: Any) -> None:
    database.commit()
    database.set_autocommit(True)


def busy_timeout(database: Any) -> int:
    found: int = database.connection.execute("PRAGMA busy_timeout").fetchone()[0]
    return found


def test_the_embedded_installation_uses_it() -> None:
    if connections["default"].vendor != "sqlite":
        pytest.skip("on PostgreSQL writers wait for rows")
    assert isinstance(connections["default"], DatabaseWrapper)


def test_a_writer_begins_when_the_other_has_ended(connect: Connect) -> None:
    first, second = connect(), connect()
    begin(first)
    begun = threading.Event()

    def write() -> None:
        begin(second)
        begun.set()
        end(second)

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(write)
        assert not begun.wait(0.2)
        end(first)
        waiting.result(timeout=20)
    assert begun.is_set()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_many_writers_all_come_to_their_turn(connect: Connect) -> None:
    with sqlite3.connect(connect().settings_dict["NAME"]) as made:
        made.execute("CREATE TABLE counted (number INTEGER)")
        made.execute("INSERT INTO counted VALUES (0)")
    made.close()

    def count() -> None:
        database = connect()
        for _ in range(20):
            begin(database)
            with database.cursor() as cursor:
                cursor.execute("SELECT number FROM counted")
                cursor.execute("UPDATE counted SET number = %s", [cursor.fetchone()[0] + 1])
            end(database)

    with ThreadPoolExecutor(8) as pool:
        for one in [pool.submit(count) for _ in range(8)]:
            one.result(timeout=60)
    with connect().cursor() as cursor:
        assert cursor.execute("SELECT number FROM counted").fetchone() == (160,)


def test_after_the_timeout_the_database_is_locked(connect: Connect) -> None:
    first, second = connect(), connect(timeout=0.05)
    begin(first)
    with pytest.raises(OperationalError, match="locked"):
        begin(second)
    end(first)
    begin(second)
    end(second)


def test_what_is_not_in_a_transaction_waits_as_long_as_before(connect: Connect) -> None:
    database = connect(timeout=3)
    database.ensure_connection()
    before = busy_timeout(database)
    begin(database)
    end(database)
    assert busy_timeout(database) == before == 3000


def test_another_error_is_raised_at_once(connect: Connect) -> None:
    database = connect()
    begin(database)
    with pytest.raises(OperationalError, match="within a transaction"):
        database._start_transaction_under_autocommit()


@pytest.mark.parametrize("kind", [DatabaseWrapper, DjangoWrapper])
def test_a_transaction_is_in_the_list_of_queries_once(connect: Connect, kind: type[Any]) -> None:
    database = connect()
    database.__class__ = kind
    with CaptureQueriesContext(database) as queries:
        begin(database)
        end(database)
    assert [one["sql"] for one in queries if one["sql"].startswith("BEGIN")] == ["BEGIN IMMEDIATE"]
