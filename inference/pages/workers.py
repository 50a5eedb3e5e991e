"""Prepare workers for lists: memory, software and current run."""

from __future__ import annotations

from collections.abc import Collection as AnyOf
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from inference.models import Worker
from inference.pages.units import duration_text, rate_text, share
from inference.permissions import runs_for
from inference.selectors.workers import NO_PYTORCH, QueueRow, WorkerRow, queue_rows
from people.models import User


@dataclass(frozen=True)
class WorkerLine:
    worker: Worker
    is_run_shown: bool
    """Whether the viewer may see what it works on."""
    is_there: bool
    queues: Sequence[str]
    silent: str
    """For how long it has said nothing."""
    memory_percent: int | None
    """Of the device's memory, what is used."""
    busy_percent: int | None
    rate: str
    lacks_pytorch: bool


@dataclass(frozen=True)
class WorkersPage:
    there: Sequence[WorkerLine]
    gone: Sequence[WorkerLine]
    queues: Sequence[QueueRow]


def workers_page(rows: Sequence[WorkerRow], viewer: User) -> WorkersPage:
    runs = {row.worker.run_id for row in rows if row.worker.run_id is not None}
    seen = set(runs_for(viewer).filter(pk__in=runs).values_list("pk", flat=True))
    lines = [worker_line(row, seen) for row in rows]
    return WorkersPage(
        there=[line for line in lines if line.is_there],
        gone=[line for line in lines if not line.is_there],
        queues=queue_rows(rows),
    )


def worker_line(row: WorkerRow, seen: AnyOf[int] = ()) -> WorkerLine:
    """Prepare the line of a worker; `seen`: the runs that the viewer may see."""
    worker = row.worker
    return WorkerLine(
        worker=worker,
        is_run_shown=worker.run_id in seen,
        is_there=row.is_there,
        queues=row.queues,
        silent=duration_text(timedelta(seconds=row.silent_s)),
        memory_percent=share(worker.device_memory, worker.device_memory_total),
        busy_percent=None if worker.device_busy is None else round(100 * worker.device_busy),
        rate=rate_text(worker.rate or None),
        lacks_pytorch=worker.software.startswith(NO_PYTORCH),
    )
