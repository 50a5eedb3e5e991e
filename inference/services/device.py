"""The one thread of this process in which models compute, beside the one that has the database.

It lives as long as the process does: to a new thread the C library gives memory page by page, so that its first
batches of a model on the CPU take half as long again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, Self, TypeVar

from django.utils import translation

from inference.backends.allocator import keep_freed_memory

T = TypeVar("T")


class Device:
    """The thread as one piece of work has it, with `with`: at its end nothing that it submitted is left there."""

    def __init__(self) -> None:
        # Sentences that are made in there are in the language of the one who asked.
        self._language = translation.get_language()
        self._submitted: list[Future[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_about: object) -> None:
        for future in self._submitted:
            future.cancel()
        wait(self._submitted)

    def submit(self, function: Callable[..., T], *args: Any, **options: Any) -> Future[T]:
        """Have it called there, after what was submitted before."""

        def call() -> T:
            with translation.override(self._language):
                return function(*args, **options)

        self._submitted = [future for future in self._submitted if not future.done()]
        future = _thread().submit(call)
        self._submitted.append(future)
        return future


@cache
def _thread() -> ThreadPoolExecutor:
    # Before the thread is there: one that is older than the setting has memory of its own.
    keep_freed_memory()
    return ThreadPoolExecutor(1, thread_name_prefix="device")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread.cache_clear)
