"""Starting callers at the same moment, as rivals do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

Argument = TypeVar("Argument")
Result = TypeVar("Result")
BARRIER_TIMEOUT_S = 60


def together(function: Callable[[Argument], Result], arguments: Iterable[Argument]) -> list[Result]:
    """Call `function` once for each argument, every call in a thread of its own, all let go at one barrier.

    Each thread has its own database connection, open before the barrier and closed after the call; the test needs
    `django_db(transaction=True)`. Results come in the order of the arguments.

    Raises
    ------
    BaseException
        What the first caller (in the order of the arguments) raised, after all of them have ended.
    """
    outcomes = together_with_errors(function, arguments)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


def together_with_errors(
    function: Callable[[Argument], Result], arguments: Iterable[Argument]
) -> list[Result | BaseException]:
    """As `together`, but an exception stands in the place of the result it prevented."""
    todo = list(arguments)
    barrier = threading.Barrier(max(len(todo), 1))

    def call(argument: Argument) -> Result | BaseException:
        try:
            try:
                connections["default"].ensure_connection()
            except BaseException:
                barrier.abort()  # or the others would wait for this one
                raise
            barrier.wait(BARRIER_TIMEOUT_S)
            return function(argument)
        except BaseException as error:  # handed to the test's own thread
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=max(len(todo), 1)) as pool:
        return list(pool.map(call, todo))
