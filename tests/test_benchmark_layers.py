"""`python -m benchmarks.layers` gives each function of a request to the layer that it belongs to."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth import get_user
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet
from django.db.transaction import Atomic
from django.template import Template
from django.urls import resolve

from allocation.services.kinds import BatchKind
from allocation.services.locks import lock_person
from annotation.services.batches import take_batch
from annotation.views.work import batch_take
from benchmarks.layers import (
    BUILDING,
    LOCKS,
    LOG,
    MIDDLEWARE,
    PERMISSION,
    SESSION,
    SQL,
    TEMPLATES,
    VIEWS,
    Measured,
    function_of,
    layer_of,
)
from operations.logs.context import path_of
from operations.middleware import LogRequests, tell
from operations.services.metrics import count_request
from people.permissions import project_for
from people.services.session_store import SessionStore

VIEW = inspect.unwrap(batch_take)


def layer(*functions: Callable[..., object]) -> str:
    return layer_of(function_of(function.__code__) for function in functions)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lock_person, LOCKS),
        (BatchKind.locked, LOCKS),
        (SessionStore.note_use, SESSION),
        (get_user, SESSION),
        (project_for, PERMISSION),
        (tell, LOG),
        (path_of, LOG),
        (count_request, LOG),
        (Template.render, TEMPLATES),
        (QuerySet.filter, BUILDING),
        (CursorWrapper.execute, SQL),
        (Atomic.__exit__, SQL),
        (VIEW, VIEWS),
        (LogRequests.__call__, MIDDLEWARE),
        (resolve, MIDDLEWARE),
    ],
)
def test_a_function_belongs_to_its_layer(function: Callable[..., object], expected: str) -> None:
    assert layer(function, LogRequests.__call__) == expected


def test_what_a_view_calls_is_the_views_unless_a_layer_claims_it() -> None:
    assert layer(take_batch, VIEW, LogRequests.__call__) == VIEWS
    assert layer(CursorWrapper.execute, QuerySet.get, take_batch, VIEW, LogRequests.__call__) == SQL


def test_a_query_of_a_permission_or_lock_belongs_to_it_and_that_of_a_template_does_not() -> None:
    assert layer(CursorWrapper.execute, QuerySet.get, project_for, VIEW) == PERMISSION
    assert layer(CursorWrapper.execute, QuerySet.get, lock_person, take_batch, VIEW) == LOCKS
    assert layer(CursorWrapper.execute, QuerySet.get, Template.render, VIEW) == SQL


def test_all_processor_time_of_a_request_is_divided_among_layers() -> None:
    def application(environ: dict[str, object], start: Callable[..., object]) -> Any:
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass
        # Closing one of Django's would look after connections, which this test has not.
        return SimpleNamespace(close=lambda: None)

    measured = Measured(application)
    measured.kind = "busy"
    with measured.sampling():
        measured({})
    # How many there are depends on what else the machine does.
    assert measured.stacks["busy"]
    assert sum(measured.layers_ms("busy", 1).values()) == pytest.approx(1000 * measured.cpu_s["busy"])
    assert measured.cpu_s["busy"] >= 0.1
