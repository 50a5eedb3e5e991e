"""Metrics for Prometheus: counts of all processes on this machine, and how much work waits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from django.conf import settings
from prometheus_client import CollectorRegistry, Counter, Histogram, Metric, generate_latest, multiprocess, values

from office.operations.rules.disk import is_full
from office.operations.services.counters import PreallocatedFile, ProcessNumbers

FOLDER = settings.VAR / "metrics"
LONG_S = (0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 120)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

# Several processes serve pages and run tasks: each counts into a file, and all files are added up on request. The files
# are beside the slots: in an inherited folder of another process, two would write one file.
FOLDER.mkdir(parents=True, exist_ok=True)
os.environ.update(PROMETHEUS_MULTIPROC_DIR=str(FOLDER))
values.MmapedDict = PreallocatedFile  # type: ignore[attr-defined]
values.ValueClass = values.MultiProcessValue(process_identifier=ProcessNumbers(FOLDER).number)
"""Call it before the first metric is made, as each needs it."""

REQUESTS = Counter("crosslens_requests", "Requests answered.", ["view", "method", "status"])
REQUEST_DURATIONS = Histogram(
    "crosslens_request_seconds", "How long an answer took, to its last byte.", ["view"], buckets=LONG_S
)
DATABASE_ERRORS = Counter("crosslens_database_errors", "Queries or connections that failed.", ["error"])
TASKS = Counter("crosslens_tasks", "Tasks of Celery that ended.", ["task", "result"])
TASK_DURATIONS = Histogram("crosslens_task_seconds", "How long a task took.", ["task"], buckets=(*LONG_S, 600))


def count_request(*, view: str, method: str, status: int, duration_s: float) -> None:
    with _if_there_is_room():
        # Anybody can invent methods; each would be a row for ever.
        REQUESTS.labels(view, method if method in METHODS else "other", status).inc()
        REQUEST_DURATIONS.labels(view).observe(duration_s)


def count_task(*, task: str, result: str, duration_s: float) -> None:
    with _if_there_is_room():
        TASKS.labels(task, result).inc()
        TASK_DURATIONS.labels(task).observe(duration_s)


def count_database_error(error: str) -> None:
    with _if_there_is_room():
        DATABASE_ERRORS.labels(error).inc()


@contextmanager
def _if_there_is_room() -> Iterator[None]:
    """A full disk costs a count, never the request or task."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise


class _GaugeLevels:
    """Gauges of the present, which the database and the broker know."""

    def collect(self) -> Iterator[Metric]:
        # It asks most apps; other requests only count.
        from office.operations.selectors.waiting import gauge_levels

        for level in gauge_levels():
            metric = Metric(level.name, level.help, "gauge")
            for labels, value in level.samples:
                metric.add_sample(level.name, labels, value)
            yield metric

    def describe(self) -> list[Metric]:
        return []


@lru_cache(maxsize=1)
def _registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)
    registry.register(_GaugeLevels())
    return registry


def exposition() -> bytes:
    """Return all metrics, in Prometheus' text format."""
    return generate_latest(_registry())


__all__ = ["count_database_error", "count_request", "count_task", "exposition"]
