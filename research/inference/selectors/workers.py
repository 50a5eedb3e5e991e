"""Read the last reports of worker processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from research.inference.models import Worker

THERE_FOR = timedelta(seconds=45)
"""A worker that has been silent for longer is taken to be gone."""
LISTED_FOR = timedelta(days=1)
NO_PYTORCH = "no PyTorch"
"""How the software of a worker begins that has none."""


@dataclass(frozen=True)
class WorkerRow:
    worker: Worker
    is_there: bool
    silent_s: int

    @property
    def queues(self) -> list[str]:
        return [name.strip() for name in self.worker.queues.split(",") if name.strip()]

    def listens_to(self, queue: str) -> bool:
        return self.is_there and queue in self.queues

    @property
    def packages(self) -> str:
        return ", ".join(self.worker.packages.split(","))

    @property
    def silent(self) -> timedelta:
        return timedelta(seconds=self.silent_s)

    @property
    def memory_percent(self) -> int | None:
        """How much of the device's memory is used."""
        used, total = self.worker.device_memory, self.worker.device_memory_total
        return None if used is None or not total else min(100, round(100 * used / total))

    @property
    def busy_percent(self) -> int | None:
        return None if self.worker.device_busy is None else round(100 * self.worker.device_busy)

    @property
    def lacks_pytorch(self) -> bool:
        return self.worker.software.startswith(NO_PYTORCH)


def worker_rows(*, now: datetime) -> list[WorkerRow]:
    """List active workers, and below them those that fell silent within a day."""
    workers = Worker.objects.filter(seen_at__gte=now - LISTED_FOR).select_related(
        "run__model", "run__encoder", "training"
    )
    rows = [
        WorkerRow(
            worker=worker,
            is_there=now - worker.seen_at <= THERE_FOR,
            silent_s=max(0, int((now - worker.seen_at).total_seconds())),
        )
        for worker in workers
    ]
    return sorted(rows, key=lambda row: (not row.is_there, row.worker.name))
