"""The thread in which a worker process reports its status, also while it has no work."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from django.db import DatabaseError, connection
from django.utils import timezone

from research.inference.services.worker_status import log, meter, report_worker, sign_off, worker_name

CHECK_EVERY_S = 1.0
STOP_WITHIN_S = 5.0


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
