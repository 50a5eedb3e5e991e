"""Limit how long an import may go on without a result, whatever reads its file: docs/importing.md."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from core.jobs.services.leases import LEASE

MAX_SILENT_S = LEASE.total_seconds() - 10
"""Shorter than a lease: otherwise another worker would begin with the same file while this one still reads it."""

AGAIN_S = 0.1
DATABASE = ("django.db.", "psycopg", "sqlite3")
"""Modules that are not interrupted: a transaction or a connection would be left half changed."""


class ReadingTimeError(BaseException):
    """Reading took too long. It is no `Exception`: no reader may take it for a fault of one line and read on."""


@contextmanager
def limited_time() -> Iterator[None]:
    """Interrupt the block as soon as `MAX_SILENT_S` have passed since it began, or since the last `restart`.

    Python interrupts only the main thread, in which workers and commands import. Elsewhere there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        restart()
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def restart() -> None:
    """Begin to count anew, because there was a result."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGALRM) is _interrupt:
        signal.setitimer(signal.ITIMER_REAL, MAX_SILENT_S, MAX_SILENT_S)


def _interrupt(_signal: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(DATABASE):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S, MAX_SILENT_S)
            return
        frame = frame.f_back
    raise ReadingTimeError
