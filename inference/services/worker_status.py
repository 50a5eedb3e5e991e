"""Worker processes, as they say of themselves every quarter of a minute: what they are, and how busy."""

from __future__ import annotations

import os
import platform
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from inference.backends.allocator import share_one_arena
from inference.models import Run, Worker
from inference.selectors.workers import NO_PYTORCH

DEFAULT, GPU = "default", "gpu"
"""Queues: that of all other work, and that of what wants a device."""

BEAT_EVERY_S = 15.0
NEWS_EVERY_S = 2.0
"""Where it is at another run than it said."""

FRESH = timedelta(seconds=45)
"""Who said nothing for longer is not counted on."""

FORGOTTEN_AFTER = timedelta(days=1)
MINUTE_S = 60.0
THREADS_VARIABLE = "OMP_NUM_THREADS"


def name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def prepare_process(*, processes: int) -> None:
    """Have models on the CPU find what they need, in a process that forks off so many, or that computes itself if 1.

    To be called before it has threads. Of several processes each computes on its part of the cores: on all of them,
    each would wait for all others. PyTorch reads how many when it is imported; what the operator says stays.
    """
    share_one_arena()
    if processes > 1:
        os.environ.setdefault(THREADS_VARIABLE, str(max(1, cores() // processes)))


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Meter:
    """What this process made over the last minute, and which part of it the device was busy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self._notes: deque[tuple[float, int]] = deque()
        self._spans: deque[tuple[float, float]] = deque()
        self._computing_since: float | None = None
        self._began: float | None = None
        self.busy_s = 0.0
        self._beat_at = float("-inf")
        self._beat_of: int | None = None
        self.run_id: int | None = None

    def begin(self, run_id: int) -> None:
        with self._lock:
            if self.run_id != run_id:
                self._notes.clear()
                self._spans.clear()
                self._began = time.monotonic()
            self.run_id = run_id

    def end(self) -> None:
        self.run_id = None

    def note(self, *, made: int) -> None:
        with self._lock:
            self._notes.append((time.monotonic(), made))

    @contextmanager
    def computing(self) -> Iterator[None]:
        """The device is at it meanwhile."""
        with self._lock:
            began = self._computing_since = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._computing_since = None
                self._spans.append((began, time.monotonic()))
                self.busy_s += time.monotonic() - began

    def figures(self) -> tuple[float | None, float | None]:
        """Made per second, and the share of the time that the device was busy; None while nothing is run."""
        with self._lock:
            now = time.monotonic()
            since = now - MINUTE_S
            while self._notes and self._notes[0][0] < since:
                self._notes.popleft()
            while self._spans and self._spans[0][1] < since:
                self._spans.popleft()
            if self.run_id is None or self._began is None:
                return None, None
            # A batch may take longer than the minute.
            at_it = [] if self._computing_since is None else [(self._computing_since, now)]
            since = max(since, self._began)
            busy_s = sum(max(0.0, ended - max(began, since)) for began, ended in [*self._spans, *at_it])
            span_s = max(now - since, 1e-3)
            return sum(made for _at, made in self._notes) / span_s, min(1.0, busy_s / span_s)

    def is_due(self) -> bool:
        """Whether it is time to say something again; the next time is counted from here."""
        with self._lock:
            since_s = time.monotonic() - self._beat_at
            if since_s < (BEAT_EVERY_S if self._beat_of == self.run_id else NEWS_EVERY_S):
                return False
            self._beat_at, self._beat_of = time.monotonic(), self.run_id
            return True


meter = Meter()


def beat(*, worker: str, queues: Iterable[str], now: datetime) -> None:
    """Write what this process is and does into its row."""
    rate, busy = meter.figures()
    device, used, total = _device()
    run = Run.objects.filter(pk=meter.run_id).first() if meter.run_id is not None else None
    values: dict[str, Any] = {
        "queues": ",".join(sorted(queues)),
        "device": device,
        "software": software(),
        "memory": _memory(),
        "device_memory": used,
        "device_memory_total": total,
        "device_busy": busy,
        "rate": rate,
        "run": run,
        "seen_at": now,
    }
    Worker.objects.update_or_create(name=worker, defaults=values, create_defaults=values | {"started_at": now})


def leave(*, worker: str) -> None:
    """The process ends in order."""
    Worker.objects.filter(name=worker).delete()


def forget_the_silent(*, now: datetime) -> int:
    return Worker.objects.filter(seen_at__lt=now - FORGOTTEN_AFTER).delete()[0]


def listening(*, queue: str, now: datetime, with_pytorch: bool = False) -> int:
    """How many workers that take from `queue` were heard of lately: all, or those that have PyTorch."""
    fresh = Worker.objects.filter(seen_at__gte=now - FRESH)
    if with_pytorch:
        fresh = fresh.exclude(software__startswith=NO_PYTORCH)
    return sum(queue in queues.split(",") for queues in fresh.values_list("queues", flat=True))


def software() -> str:
    """Versions by the packages' own notes: to import PyTorch takes seconds and memory."""
    try:
        found = f"PyTorch {version('torch')}"
    except PackageNotFoundError:
        return NO_PYTORCH
    with suppress(PackageNotFoundError):
        found += f", transformers {version('transformers')}"
    return found


def _device() -> tuple[str, int | None, int | None]:
    """What it computes on, and the bytes used and there on a GPU. PyTorch is asked only where it is loaded anyway."""
    torch = sys.modules.get("torch")
    # Half imported, it has no such thing yet.
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and hasattr(cuda, "is_available") and cuda.is_available():
        try:
            free, total = cuda.mem_get_info()
            return str(cuda.get_device_name()), total - free, total
        except RuntimeError as error:
            # A device that has failed fails whatever is asked of it; the worker is there all the same.
            return f"GPU: {type(error).__name__}", None, None
    return f"CPU, {os.cpu_count()} × {platform.machine()}", None, None


def _memory() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return None
