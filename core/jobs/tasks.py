"""How work reaches workers: by a message when its row is committed, and by one sweep if that message was lost.

Only modules of tasks import it, as Celery takes a third of the time in which Django starts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any

from celery import Task, current_app, shared_task
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from core.jobs.models import Due, Leased
from core.jobs.services import leases

__all__ = ["ask_for_sweep", "current_app", "do_all", "job", "shared_task"]

# Otherwise what is sent goes to an application without a broker.
import_module(settings.QUEUE_APPLICATION)

Waiting = Callable[..., Iterable[Any]]
Send = Callable[[Any], object]

log = logging.getLogger(__name__)
_kinds: list[Callable[[], None]] = []


def job(task: Task[..., None], waiting: QuerySet[Any] | Waiting, *, send: Send | None = None) -> Callable[[Any], None]:
    """Register a kind of work for the sweep; returns what asks for a row of it once the transaction commits.

    - `waiting`: its rows: all, if they are leased, otherwise those not done. Or a function of `now` that lists their
      keys.
    - `send`: sends the task for a key, by default into the default queue.
    """

    list_waiting = partial(_keys, waiting) if isinstance(waiting, QuerySet) else waiting

    def deliver(key: Any) -> None:
        (send or task.delay)(key)

    def look() -> None:
        for key in list_waiting(now=timezone.now()):
            deliver(key)

    _kinds.append(look)

    def ask(key: Any) -> None:
        # Not a partial: Django would fail to say what could not be called, and with it the request.
        transaction.on_commit(lambda: deliver(key), robust=True)

    return ask


def _keys(rows: QuerySet[Any], *, now: datetime) -> list[int]:
    if issubclass(rows.model, Leased):
        return leases.rows_to_nudge(rows, now=now)
    if issubclass(rows.model, Due):
        return leases.due_rows(rows, now=now)
    return list(rows.order_by("pk").values_list("pk", flat=True))


@shared_task
def sweep_jobs() -> None:
    """Send what waits and no message is on its way for, of all kinds of work."""
    do_all(_kinds)


def ask_for_sweep() -> None:
    transaction.on_commit(sweep_jobs.delay, robust=True)


def do_all(steps: Iterable[Callable[[], object]]) -> None:
    """Do each of `steps`, also where another one fails; then raise the last error."""
    failed: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:
            log.exception("A step of a sweep failed.")
            failed = error
    if failed is not None:
        raise failed
