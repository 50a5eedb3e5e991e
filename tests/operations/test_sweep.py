"""The one sweep of all jobs, and the schedule of beat."""

from __future__ import annotations

import pytest
from celery import current_app
from django.conf import settings

from core.jobs import tasks


def test_a_kind_of_work_that_cannot_be_looked_at_keeps_no_other_from_being_sent(monkeypatch, caplog):
    sent: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(tasks, "_kinds", [fail, lambda: sent.append("other")])
    with pytest.raises(ZeroDivisionError):
        tasks.sweep_jobs()
    assert sent == ["other"]
    assert "A step of a sweep failed." in caplog.text


def test_beat_sends_tasks_that_workers_know():
    current_app.loader.import_default_modules()
    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= set(current_app.tasks)
