"""The one thread of this process in which models compute, next to the one with the database.

It lives as long as the process: the C library gives memory to a new thread page by page, so that its first batches of
a model on the CPU take half as long again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, Self, TypeVar

from django.utils.translation import get_language, override

from research.inference.backends.allocator import keep_freed_memory

T = TypeVar("T")


class DeviceThread:
    """A context manager that submits calls to the thread; at its end all of them are done or cancelled."""

    def __init__(self) -> None:
        # Messages made in the thread are in the language of the caller.
        self._language = get_language()
        self._submitted: list[Future[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        for future in self._submitted:
            future.cancel()
        wait(self._submitted)

    def submit(self, function: Callable[..., T], *args: Any, **options: Any) -> Future[T]:
        """Call `function` in the thread, after all that was submitted before."""

        def call() -> T:
            with override(self._language):
                return function(*args, **options)

        self._submitted = [future for future in self._submitted if not future.done()]
        future = _thread().submit(call)
        self._submitted.append(future)
        return future


@cache
def _thread() -> ThreadPoolExecutor:
    # Before the thread starts: one that is older than the setting has memory of its own.
    keep_freed_memory()
    return ThreadPoolExecutor(1, thread_name_prefix="device")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread.cache_clear)
