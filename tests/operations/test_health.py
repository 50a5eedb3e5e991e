"""What /healthz and /readyz say, and that neither says anything secret."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from core.allocation.models import Sweep
from core.allocation.tasks import sweep_leases
from office.operations.selectors import broker
from office.operations.services import readiness
from tests.concurrency import together

NAMES = ["database", "migrations", "cache", "broker", "storage", "sweeps"]


@pytest.fixture(autouse=True)
def _nothing_found_yet() -> None:
    readiness.answers_at.cache_clear()


def lines_of(client: Any) -> tuple[int, dict[str, str]]:
    answer = client.get("/readyz")
    assert "no-store" in answer["Cache-Control"]
    return answer.status_code, dict(line.split(": ", 1) for line in answer.content.decode().splitlines())


def raising(error: Exception) -> Any:
    def raise_it(*_arguments: object, **_named: object) -> None:
        raise error

    return raise_it


def test_healthz_answers_anybody_asks_no_database_and_is_not_cached(client):
    # Without the mark of pytest-django, whatever asks the database fails.
    answer = client.get("/healthz")

    assert (answer.status_code, answer.content) == (200, b"ok\n")
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_readyz_names_what_was_asked_and_leaves_nothing_behind(client, media):
    status, lines = lines_of(client)

    assert (status, lines) == (200, dict.fromkeys(NAMES, "ok"))
    assert default_storage.listdir(readiness.PROBES_FOLDER)[1] == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_readyz_says_since_when_no_sweep_came(client, media):
    sweep_leases()
    assert lines_of(client)[0] == 200

    Sweep.objects.update(at=datetime(2026, 11, 21, 8, 15, tzinfo=UTC))
    readiness.answers_at.cache_clear()
    status, lines = lines_of(client)

    assert status == 503
    assert lines["sweeps"] == "none since 2026-11-21 08:15 UTC: beat, the broker or all workers are gone"
    assert lines["database"] == "ok"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_readyz_says_that_a_migration_is_missing_and_what_to_do(client, media):
    recorder = MigrationRecorder(connection)
    app, name = max(recorder.applied_migrations())
    recorder.record_unapplied(app, name)
    try:
        status, lines = lines_of(client)
    finally:
        recorder.record_applied(app, name)

    assert (status, lines["migrations"]) == (503, "1 not applied; run: python manage.py migrate")
    assert lines["database"] == "ok"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_readyz_says_that_a_column_is_missing_though_all_migrations_are_applied(client, media):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotation_captionitem RENAME COLUMN rating TO score")
    try:
        status, lines = lines_of(client)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE annotation_captionitem RENAME COLUMN score TO rating")

    assert status == 503
    assert lines["migrations"] == (
        "all applied, but the database was made by another version: missing annotation_captionitem.rating and 1 more"
    )


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("name", "reason"),
    [("cache", "does not answer"), ("broker", "does not answer"), ("storage", "cannot be written to")],
)
@pytest.mark.django_db(transaction=True)
def test_readyz_names_what_does_not_work_without_its_address_or_password(client, media, monkeypatch, name, reason):
    secret = "redis://:hunter2@queue.internal:6379 refused"
    broken = {
        "cache": SimpleNamespace(set=raising(OSError(secret))),
        "broker": SimpleNamespace(
            require=raising(broker.UnreachableError(secret)), UnreachableError=broker.UnreachableError
        ),
        "storage": SimpleNamespace(save=raising(OSError(secret))),
    }
    monkeypatch.setattr(readiness, "default_storage" if name == "storage" else name, broken[name])

    status, lines = lines_of(client)

    assert status == 503
    assert lines == dict.fromkeys(NAMES, "ok") | {name: reason}


def test_readyz_does_not_wait_for_what_hangs_and_asks_it_only_once(monkeypatch):
    asked, go_on = [], threading.Event()

    def hang() -> None:
        asked.append(time.monotonic())
        go_on.wait(20)

    monkeypatch.setattr(readiness, "CHECKS", {"broker": hang, "cache": lambda: None})
    try:
        answers = [readiness.ask_all(patience_s=0.2) for _ in range(3)]
    finally:
        go_on.set()

    assert answers == [{"broker": "no answer within 0.2 s", "cache": "ok"}] * 3
    assert len(asked) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_many_who_ask_share_what_one_look_found_and_none_is_refused(monkeypatch):
    looks = []

    def look() -> None:
        looks.append(time.monotonic())
        time.sleep(0.05)

    monkeypatch.setattr(readiness, "CHECKS", {"cache": look})
    monkeypatch.setattr(readiness, "KEPT_S", 0.2)
    until = time.monotonic() + 1.0

    def ask_on(_number: int) -> list[dict[str, str]]:
        asked = []
        while time.monotonic() < until:
            asked.append(readiness.readiness())
            time.sleep(0.005)
        return asked

    everything = [answer for answers in together(ask_on, range(12)) for answer in answers]

    assert len(everything) > 100
    assert everything == [{"cache": "ok"}] * len(everything)
    assert len(looks) <= 2 + 1.0 / 0.2


def test_a_look_that_is_too_old_is_given_to_nobody(monkeypatch):
    answers = iter([readiness.ReadinessError("away"), None])

    def look() -> None:
        if error := next(answers):
            raise error

    monkeypatch.setattr(readiness, "CHECKS", {"cache": look})
    monkeypatch.setattr(readiness, "KEPT_S", 1e-9)

    assert [readiness.readiness()["cache"] for _ in range(2)] == ["away", "ok"]


def test_an_error_that_nobody_foresaw_is_told_to_the_log_and_not_to_whoever_asks(monkeypatch, caplog):
    monkeypatch.setattr(readiness, "CHECKS", {"storage": raising(ValueError("hunter2"))})

    assert readiness.ask_all() == {"storage": "could not be asked; the log says why"}
    assert "hunter2" in caplog.text
