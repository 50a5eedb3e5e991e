"""Which rows a step locks, and in which order: the one that docs/decisions/0039 states."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from django.apps import apps
from django.db import connection

ORDER = (
    *("people_user", "people_membership", "annotation_round", "sxs_eval_comparison", "allocation_pool"),
    *("allocation_batch", "annotation_captionbatch", "annotation_verificationbatch", "sxs_eval_judgingbatch"),
    *("allocation_task", "annotation_caption", "annotation_tally", "scoring_referenceset"),
    *("annotation_roundfigures", "sxs_eval_raterstatus", "conversation_reportedimage", "conversation_managerthread"),
    *("gapgame_season", "gapgame_player"),
    *("the name of a person", "people_project"),
)
PERSON = "people_user"
NAME = "the name of a person"
LOCKS = re.compile(r" FOR (NO KEY UPDATE|UPDATE|KEY SHARE)(?: OF (?P<tables>.+))?$")
CHANGED = re.compile(r'UPDATE "(?P<table>\w+)" SET (?P<columns>.*)')
KEYS = {model._meta.db_table: model._meta.pk.column for model in apps.get_models() if model._meta.pk}


class Locks:
    """Notes, as a wrapper of every statement, the tables of ORDER of which rows are locked that were not before."""

    def __init__(self) -> None:
        self.tables: list[str] = []
        self.rows: set[tuple[str, Any]] = set()

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if changed := CHANGED.match(sql):
            result = execute(sql, params, many, context)
            if context["cursor"].rowcount == 0:
                return result
            if changed["table"] == PERSON and '"username" =' in changed["columns"]:
                self._note(NAME)
            # Rows were locked by a statement before, if there was one.
            elif changed["table"] not in self.tables:
                self._note(changed["table"])
            return result
        # Tasks are counted as they are locked.
        locking = sql.removeprefix("SELECT COUNT(*) FROM (").removesuffix(") locked")
        if found := LOCKS.search(locking):
            tables = re.findall(r'"(\w+)"', found["tables"] or locking.partition(" FROM ")[2])
            for table in tables if found["tables"] else tables[:1]:
                # Who refers to a person waits for nobody but whoever changes the name, and then not for themselves.
                name = NAME if table == PERSON and "KEY SHARE" in found[0] else table
                self._note_rows(name, table, locking[: found.start()], params)
        elif sql.startswith("DELETE FROM"):
            table = re.findall(r'"(\w+)"', sql)[0]
            self._note_rows(table, table, sql, params)
        return execute(sql, params, many, context)

    def _note_rows(self, name: str, table: str, sql: str, params: Any) -> None:
        if name not in ORDER:
            return
        with connection.cursor() as cursor:
            keys = f'SELECT "{table}"."{KEYS[table]}" FROM {sql.partition(" FROM ")[2]}'  # noqa: S608
            cursor.cursor.execute(keys, params)
            rows = {(name, key) for (key,) in cursor.cursor.fetchall() if not {(table, key), (name, key)} & self.rows}
        if rows:
            self.rows |= rows
            self._note(name)

    def _note(self, name: str) -> None:
        if name in ORDER and self.tables[-1:] != [name]:
            self.tables.append(name)


def locks_of(step: Callable[[], Any]) -> list[list[str]]:
    """The tables of ORDER in the order in which `step` locks rows of them, of each transaction with such locks."""
    made: list[Locks] = []

    def begin(*about: Any, **more: Any) -> None:
        made.append(Locks())
        set_autocommit(*about, **more)

    def note(execute: Any, *about: Any) -> Any:
        return made[-1](execute, *about) if made else execute(*about)

    set_autocommit = connection.set_autocommit
    with patch.object(connection, "set_autocommit", begin), connection.execute_wrapper(note):
        step()
    return [locks.tables for locks in made if locks.tables]


def check_order(step: Callable[[], Any]) -> None:
    found = locks_of(step)
    assert found, "locks nothing, so that this says nothing"
    for tables in found:
        assert tables == sorted(tables, key=ORDER.index), tables


def wait_for_a_waiter(*, deadlocks_after_ms: int = 10) -> None:
    """Return once another connection waits for a lock of this one's transaction, which notices a deadlock soon."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL deadlock_timeout = {deadlocks_after_ms}")
        waiting = "SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        for _try in range(1000):
            cursor.execute(f"SELECT EXISTS ({waiting})")
            if cursor.fetchone() == (True,):
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits")
