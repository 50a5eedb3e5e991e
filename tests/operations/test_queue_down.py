"""What is stored stays stored, and the request succeeds, if the queue cannot be reached: a sweep sends it later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from celery import Task
from django.db import transaction
from kombu.exceptions import OperationalError

from annotation import tasks as annotation
from sxs_eval import tasks as sxs_eval

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
