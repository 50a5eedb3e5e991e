"""Workers as lists show them: what each has in use and what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from inference.models import Worker
from inference.pages.units import duration_text, rate_text, share
from inference.selectors.workers import NO_PYTORCH, QueueRow, WorkerRow, queue_rows


@dataclass(frozen=True)
class WorkerLine:
    worker: Worker
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


def workers_page(rows: Sequence[WorkerRow]) -> WorkersPage:
    lines = [worker_line(row) for row in rows]
    return WorkersPage(
        there=[line for line in lines if line.is_there],
        gone=[line for line in lines if not line.is_there],
        queues=queue_rows(rows),
    )


def worker_line(row: WorkerRow) -> WorkerLine:
    worker = row.worker
    return WorkerLine(
        worker=worker,
        is_there=row.is_there,
        queues=row.queues,
        silent=duration_text(timedelta(seconds=row.silent_s)),
        memory_percent=share(worker.device_memory, worker.device_memory_total),
        busy_percent=None if worker.device_busy is None else round(100 * worker.device_busy),
        rate=rate_text(worker.rate or None),
        lacks_pytorch=worker.software.startswith(NO_PYTORCH),
    )
