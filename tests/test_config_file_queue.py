"""The embedded queue hands out whole messages, however near to their writing a worker looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from kombu import Connection

import config.celery  # noqa: F401


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
