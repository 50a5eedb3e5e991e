"""Names of tasks; the embedded queue hands out whole messages, however near to their writing a worker looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from kombu import Connection

from config.celery import app


@pytest.fixture
def connection(tmp_path):
    for name in ("messages", "processed", "control"):
        (tmp_path / name).mkdir()
    messages = str(tmp_path / "messages")
    options = {
        "data_folder_in": messages,
        "data_folder_out": messages,
        "processed_folder": str(tmp_path / "processed"),
        "control_folder": str(tmp_path / "control"),
    }
    with Connection("filesystem://localhost", transport_options=options) as connection:
        yield connection


def test_a_message_has_its_name_only_when_it_is_written(connection, tmp_path, monkeypatch):
    seen: list[tuple[int, bool]] = []
    named = Path.replace

    def look_first(unfinished: Path, target: Path) -> Path:
        seen.append((unfinished.stat().st_size, any((tmp_path / "messages").glob("*.msg"))))
        return named(unfinished, target)

    monkeypatch.setattr(Path, "replace", look_first)
    queue = connection.SimpleQueue("work")
    queue.put({"image": "a" * 1000})

    ((size, is_named),) = seen
    assert size > 1000
    assert not is_named
    assert queue.get(timeout=5).payload == {"image": "a" * 1000}


def test_a_task_is_named_after_the_label_of_its_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps.get_app_config("images"), "name", "wing.pictures")

    assert app.gen_task_name("sweep", "wing.pictures.tasks").split(".") == ["images", "tasks", "sweep"]
    assert app.gen_task_name("sweep", "elsewhere.tasks") == "elsewhere.tasks.sweep"


def test_beat_sends_only_tasks_that_there_are() -> None:
    app.loader.import_default_modules()

    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= app.tasks.keys()
