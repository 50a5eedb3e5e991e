"""Celery tasks: each line of their logs names the request, and each task is counted."""

from __future__ import annotations

import logging
import time
from contextvars import ContextVar
from typing import Any

from celery import states
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun
from celery.utils.log import get_multiprocessing_logger
from django.db import DatabaseError

from office.operations.logs import NOTHING, LogContext, doing
from office.operations.signals import database_errors

HEADER = "request_id"
RESULTS = {states.SUCCESS: "succeeded", states.RETRY: "retried", states.FAILURE: "failed"}

began: ContextVar[float] = ContextVar("began", default=0.0)


def connect() -> None:
    before_task_publish.connect(_pass_on, dispatch_uid="office.operations.signals.tasks")
    task_prerun.connect(_begin, dispatch_uid="office.operations.signals.tasks")
    task_postrun.connect(_end, dispatch_uid="office.operations.signals.tasks")
    # Celery would set up its own format.
    setup_logging.connect(_levels, dispatch_uid="office.operations.signals.tasks")


def _pass_on(headers: dict[str, Any], **_about: Any) -> None:
    if request_id := doing.get().request_id:
        headers[HEADER] = request_id


def _begin(task: Any, task_id: str, **_about: Any) -> None:
    request_id = getattr(task.request, HEADER, None)
    doing.set(LogContext(request_id=str(request_id or ""), task=task.name, task_id=task_id))
    began.set(time.perf_counter())


def _end(task: Any, state: str | None, retval: Any, **_about: Any) -> None:
    result = RESULTS.get(state or states.FAILURE, "other")
    from office.operations.services import metrics

    metrics.count_task(task=task.name, result=result, duration_s=time.perf_counter() - began.get())
    if isinstance(retval, DatabaseError):
        database_errors.count_error(retval)
    doing.set(NOTHING)


def _levels(loglevel: int | None, **_about: Any) -> None:
    root = logging.getLogger()
    if loglevel:
        logging.getLogger("celery").setLevel(loglevel)
        # The end of a task is logged too, and sweeps come every few seconds.
        logging.getLogger("celery.worker.strategy").setLevel(max(loglevel, logging.WARNING))
    # It reports killed processes, and does not propagate.
    if ended := get_multiprocessing_logger():
        ended.handlers, ended.level = root.handlers, logging.ERROR
