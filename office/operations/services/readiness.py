"""Whether this installation can work now: each of its services is asked, with a short timeout."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from queue import Empty, SimpleQueue

from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from core.allocation.services.lifecycle import sweeps_silent_since
from office.operations.selectors import broker, schema

log = logging.getLogger(__name__)

OK = "ok"
PATIENCE_S = 3.0
KEPT_S = 2.0
"""How long the same result is returned to everybody who asks this process."""

PROBES_FOLDER = "probes"


class ReadinessError(Exception):
    """A service is not ready; the message says how, and nothing secret."""


def check_database() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        raise ReadinessError("does not answer") from error


def check_migrations() -> None:
    try:
        applied = MigrationRecorder(connection).applied_migrations().keys()
    except DatabaseError as error:
        raise ReadinessError("cannot be told, for the database does not answer") from error
    missing = _known_migrations() - applied
    if missing:
        raise ReadinessError(f"{len(missing)} not applied; run: python manage.py migrate")
    try:
        differences = schema.differences(connection)
    except DatabaseError as error:
        raise ReadinessError("cannot be told, for the database does not answer") from error
    if differences:
        more = f" and {len(differences) - 1} more" if len(differences) > 1 else ""
        raise ReadinessError(f"all applied, but the database was made by another version: {differences[0]}{more}")


@lru_cache(maxsize=1)
def _known_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations or ())


def check_cache() -> None:
    key, value = f"probe-{socket.gethostname()}", uuid.uuid4().hex
    try:
        cache.set(key, value, timeout=30)
        answer = cache.get(key)
    except Exception as error:
        # Each backend has errors of its own.
        raise ReadinessError("does not answer") from error
    # Another process of this machine may have asked in between.
    if not answer:
        raise ReadinessError("forgets what it is given")


def check_broker() -> None:
    try:
        broker.require()
    except broker.UnreachableError as error:
        raise ReadinessError("does not answer") from error


def check_storage() -> None:
    name = f"{PROBES_FOLDER}/{socket.gethostname()}-{os.getpid()}"
    try:
        # A killed check may have left one; then another name is used.
        default_storage.delete(name)
        default_storage.save(name, ContentFile(b"probe"))
    except Exception as error:
        raise ReadinessError("cannot be written to") from error
    finally:
        # On a full disk the file can be created but not written.
        with suppress(Exception):
            default_storage.delete(name)


def check_sweeps() -> None:
    try:
        since = sweeps_silent_since(now=timezone.now())
    except DatabaseError as error:
        raise ReadinessError("cannot be told, for the database does not answer") from error
    if since is not None:
        raise ReadinessError(f"none since {since:%Y-%m-%d %H:%M} UTC: beat, the broker or all workers are gone")


CHECKS: dict[str, Callable[[], None]] = {
    "database": check_database,
    "migrations": check_migrations,
    "cache": check_cache,
    "broker": check_broker,
    "storage": check_storage,
    "sweeps": check_sweeps,
}
_at_it: dict[str, threading.Thread] = {}


_lock = threading.Lock()


def readiness() -> dict[str, str]:
    """Return a result of `ask_all` that is at most `KEPT_S` old. Concurrent calls wait for the same result."""
    with _lock:
        return answers_at(time.monotonic() // KEPT_S)


@lru_cache(maxsize=1)
def answers_at(_moment: float) -> dict[str, str]:
    return ask_all()


def ask_all(*, patience_s: float = PATIENCE_S) -> dict[str, str]:
    """Return `OK`, or why not, by service. All are asked at once, with a timeout."""
    answers: SimpleQueue[tuple[str, str]] = SimpleQueue()
    for name, check in CHECKS.items():
        # One that hangs is asked once: each more would hang, too.
        if name not in _at_it:
            _at_it[name] = threading.Thread(target=_ask, args=(name, check, answers), name=f"probe {name}", daemon=True)
            _at_it[name].start()
    by_check: dict[str, str] = {}
    until = time.monotonic() + patience_s
    with suppress(Empty):
        while len(by_check) < len(CHECKS):
            name, answer = answers.get(timeout=max(0.0, until - time.monotonic()))
            by_check[name] = answer
    return {name: by_check.get(name, f"no answer within {patience_s:g} s") for name in CHECKS}


def _ask(name: str, check: Callable[[], None], answers: SimpleQueue[tuple[str, str]]) -> None:
    answer = OK
    try:
        check()
    except ReadinessError as amiss:
        answer = str(amiss)
    except Exception:
        log.exception("The check of %s failed.", name)
        answer = "could not be asked; the log says why"
    finally:
        connection.close()
        # Before it answers: who asks again at once would take it for one that hangs.
        del _at_it[name]
        answers.put((name, answer))
