"""What worker processes report: queues, device, software, memory, throughput; and the thread that does it."""

from __future__ import annotations

import logging
import os
import platform
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from research.inference.backends import registry
from research.inference.backends.allocator import share_one_arena
from research.inference.models import Run, Training, Worker
from research.inference.rules.capacity import WorkerCapacity, WorkNeeds, fits
from research.inference.selectors.runs import NO_PYTORCH, THERE_FOR

log = logging.getLogger(__name__)

DEFAULT, GPU = "default", "gpu"
"""Queues: `gpu` for work that a device speeds up, `default` for all other work."""

REPORT_EVERY_S = 15.0
REPORT_NEW_RUN_AFTER_S = 2.0
"""If it has begun another run than the one it reported."""

DELETED_AFTER = timedelta(days=1)
MINUTE_S = 60.0
THREADS_VARIABLE = "OMP_NUM_THREADS"
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
MEBIBYTE = 2**20
CHECK_EVERY_S = 1.0
STOP_WITHIN_S = 5.0


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def prepare_process(*, processes: int) -> None:
    """Set up memory and threads for models on the CPU, in a process that forks `processes` workers or, if 1, computes.

    Call it before the process has threads. Each of several processes gets its share of the cores: on all of them, each
    would wait for all others. PyTorch reads the number when it is imported; a number set by the operator stays.
    """
    share_one_arena()
    if processes > 1:
        os.environ.setdefault(THREADS_VARIABLE, str(max(1, cores() // processes)))


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkMeter:
    """Measures what this process made in the last minute, and how busy the device was."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self._made: deque[tuple[float, int]] = deque()
        self._spans: deque[tuple[float, float]] = deque()
        self._computing_since: float | None = None
        self._began: float | None = None
        self.busy_s = 0.0
        self._reported_at = float("-inf")
        self._reported_run_id: int | None = None
        self.run_id: int | None = None
        self.training_id: int | None = None

    def begin(self, run_id: int) -> None:
        with self._lock:
            if self.run_id != run_id:
                self._made.clear()
                self._spans.clear()
                self._began = time.monotonic()
            self.run_id = run_id

    def begin_training(self, training_id: int) -> None:
        self.training_id = training_id

    def end(self) -> None:
        self.run_id = self.training_id = None

    def note(self, *, made: int) -> None:
        with self._lock:
            self._made.append((time.monotonic(), made))

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Count the time within as time in which the device is busy."""
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
        """Return results per second and the device's busy share; None while there is no run."""
        with self._lock:
            now = time.monotonic()
            since = now - MINUTE_S
            while self._made and self._made[0][0] < since:
                self._made.popleft()
            while self._spans and self._spans[0][1] < since:
                self._spans.popleft()
            if self.run_id is None or self._began is None:
                return None, None
            # A batch may take longer than the minute.
            current = [] if self._computing_since is None else [(self._computing_since, now)]
            since = max(since, self._began)
            busy_s = sum(max(0.0, ended - max(began, since)) for began, ended in [*self._spans, *current])
            span_s = max(now - since, 1e-3)
            return sum(made for _at, made in self._made) / span_s, min(1.0, busy_s / span_s)

    def is_due(self) -> bool:
        """Whether it is time for the next report; if so, start counting anew."""
        with self._lock:
            since_s = time.monotonic() - self._reported_at
            if since_s < (REPORT_EVERY_S if self._reported_run_id == self.run_id else REPORT_NEW_RUN_AFTER_S):
                return False
            self._reported_at, self._reported_run_id = time.monotonic(), self.run_id
            return True


meter = WorkMeter()


def report_worker(*, worker: str, queues: Iterable[str], now: datetime) -> None:
    """Write this process's report into its row."""
    rate, busy = meter.figures()
    device, used, total = _device()
    capacity = own_capacity()
    run = Run.objects.filter(pk=meter.run_id).first() if meter.run_id is not None else None
    values: dict[str, Any] = {
        "queues": ",".join(sorted(queues)),
        "device": device,
        "software": software(),
        "memory": _memory(),
        "device_memory": used,
        "device_memory_total": total or capacity.gpu_memory,
        "gpus": capacity.gpus,
        "machine_memory": capacity.memory,
        "packages": ",".join(sorted(capacity.modules)),
        "device_busy": busy,
        "rate": rate,
        "run": run,
        "training": Training.objects.filter(pk=meter.training_id).first() if meter.training_id is not None else None,
        "seen_at": now,
    }
    Worker.objects.update_or_create(name=worker, defaults=values, create_defaults=values | {"started_at": now})


def sign_off(*, worker: str) -> None:
    """Delete the row of a process that ends in order."""
    Worker.objects.filter(name=worker).delete()


def delete_silent(*, now: datetime) -> int:
    return Worker.objects.filter(seen_at__lt=now - DELETED_AFTER).delete()[0]


def count_listening(*, queue: str, now: datetime, needs: WorkNeeds | None = None) -> int:
    """Count the workers that take from `queue` and have reported lately: all, or those that have what is needed."""
    listening = [one for one in Worker.objects.filter(seen_at__gte=now - THERE_FOR) if queue in one.queues.split(",")]
    return len(listening) if needs is None else sum(fits(needs, capacity_of(one)) for one in listening)


def capacity_of(worker: Worker) -> WorkerCapacity:
    """Read from a worker's report what it has."""
    modules = frozenset(name for name in worker.packages.split(",") if name)
    return WorkerCapacity(modules, worker.machine_memory, worker.gpus, worker.device_memory_total)


def own_capacity() -> WorkerCapacity:
    """Find what this process has."""
    gpus = gpus_here()
    return WorkerCapacity(registry.modules_here(), machine_memory(), len(gpus), gpus[0].memory if gpus else None)


def software() -> str:
    """Read versions from the packages' metadata: importing PyTorch takes seconds and memory."""
    try:
        versions = f"PyTorch {version('torch')}"
    except PackageNotFoundError:
        return NO_PYTORCH
    with suppress(PackageNotFoundError):
        versions += f", transformers {version('transformers')}"
    return versions


@dataclass(frozen=True)
class GpuDevice:
    """A GPU that this process may use; its memory in bytes."""

    name: str
    memory: int


@cache
def gpus_here() -> tuple[GpuDevice, ...]:
    """List the GPUs that this process may use, without importing PyTorch: as NVIDIA's driver tells of them."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    command = [tool, "--query-gpu=index,uuid,memory.total,name", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
        lines = said.stdout.splitlines()
        rows = [[part.strip() for part in line.split(",", 3)] for line in lines if line.strip()]
        gpus = {index: (uuid, GpuDevice(name, int(memory) * MEBIBYTE)) for index, uuid, memory, name in rows}
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        log.warning("nvidia-smi does not say which GPUs there are: %s", error)
        return ()
    visible = settings.CUDA_VISIBLE_DEVICES
    if visible is None:
        return tuple(gpu for _uuid, gpu in gpus.values())
    found = (
        next((gpu for index, (uuid, gpu) in gpus.items() if index == one or uuid.startswith(one)), None)
        for one in visible.split(",")
        if one
    )
    return tuple(gpu for gpu in found if gpu is not None)


def machine_memory() -> int | None:
    """Find how many bytes of memory the machine has, or the container in it."""
    with suppress(OSError, ValueError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        with suppress(OSError, ValueError):
            return min(total, int(CONTAINER_LIMIT.read_text()))
        return total
    return None


def _device() -> tuple[str, int | None, int | None]:
    """Return the device's name, and a GPU's bytes used and in total. PyTorch is only asked if it is loaded already."""
    torch = sys.modules.get("torch")
    # While PyTorch is being imported, it has no `cuda` yet.
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and hasattr(cuda, "is_available") and cuda.is_available():
        try:
            free, total = cuda.mem_get_info()
            return str(cuda.get_device_name()), total - free, total
        except RuntimeError as error:
            # A failed device answers nothing; the worker itself still reports.
            return f"GPU: {type(error).__name__}", None, None
    if gpus := gpus_here():
        return gpus[0].name, None, gpus[0].memory
    return f"CPU, {os.cpu_count()} × {platform.machine()}", None, None


def _memory() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return None


class WorkerHeartbeat:
    """Reports one process; `queues` are those that it takes from, none if it is no Celery worker."""

    def __init__(self) -> None:
        self.queues: frozenset[str] = frozenset()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, *, queues: Iterable[str]) -> None:
        """Start reporting, if it has not begun yet. Each forked process has a heartbeat of its own."""
        self.queues = frozenset(queues)
        if self._thread is not None and self._thread.is_alive():
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reporting and sign off."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=STOP_WITHIN_S)

    def _run(self) -> None:
        worker = worker_name()
        try:
            while not self._stop.is_set():
                if meter.is_due():
                    self._report(worker)
                self._stop.wait(CHECK_EVERY_S)
            sign_off(worker=worker)
        except DatabaseError:
            # The row is deleted after a while.
            log.warning("Worker %s could not sign off.", worker)
        finally:
            connection.close()

    def _report(self, worker: str) -> None:
        try:
            report_worker(worker=worker, queues=self.queues, now=timezone.now())
        except DatabaseError:
            # The database is away or its disk is full: the next report may get through.
            log.warning("Worker %s could not report.", worker)
            connection.close()


heartbeat = WorkerHeartbeat()
