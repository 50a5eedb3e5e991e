"""The thread by which a worker process says that it is there, also while nothing is to be done."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from django.db import DatabaseError, connection
from django.utils import timezone

from inference.services import worker_status

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
STOP_WITHIN_S = 5.0


class Heartbeat:
    """Of one process; `queues` are those that it takes from, none where it is no worker of Celery."""

    def __init__(self) -> None:
        self.queues: frozenset[str] = frozenset()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, *, queues: Iterable[str]) -> None:
        """Begin to beat; once more is as once. A process that was forked off has a beat of its own."""
        self.queues = frozenset(queues)
        if self._thread is not None and self._thread.is_alive():
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Say goodbye."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=STOP_WITHIN_S)

    def _beat(self) -> None:
        worker = worker_status.name()
        try:
            while not self._stop.is_set():
                if worker_status.meter.is_due():
                    self._say(worker)
                self._stop.wait(LOOK_EVERY_S)
            worker_status.leave(worker=worker)
        except DatabaseError:
            # The row is forgotten after a while.
            log.warning("Worker %s could not take its leave.", worker)
        finally:
            connection.close()

    def _say(self, worker: str) -> None:
        try:
            worker_status.beat(worker=worker, queues=self.queues, now=timezone.now())
        except DatabaseError:
            # The database is away or its disk is full: the next beat may get through.
            log.warning("Worker %s could not say that it is there.", worker)
            connection.close()


heartbeat = Heartbeat()
