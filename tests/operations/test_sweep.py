"""The sweep of all jobs, the schedule of beat, and a queue that cannot be reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from celery import Task, current_app
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

from annotation import tasks as annotation
from core.jobs import tasks
from sxs_eval import tasks as sxs_eval


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


NUDGES: list[Callable[[], None]] = [
    lambda: annotation.nudge_figures(1),
    lambda: annotation.nudge_filling([1, 2]),
    lambda: annotation.ask_for_release(1),
    lambda: sxs_eval.nudge_filling([1, 2]),
]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("nudge", NUDGES)
def test_a_queue_that_is_down_fails_no_request(nudge: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def refuse(task: Any, *arguments: object, **options: object) -> None:
        tried.append(task.name)
        raise OperationalError("Connection refused")

    monkeypatch.setattr(Task, "delay", refuse)
    monkeypatch.setattr(Task, "apply_async", refuse)
    nudge()
    with transaction.atomic():
        nudge()
    assert tried
