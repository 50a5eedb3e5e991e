"""How much work waits and how much is under way, for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db import DatabaseError
from django.db.models import Count, Min, Model, Q
from django.utils import timezone

from annotation.models import Release
from core.allocation.models import Batch, BatchState
from core.images.models import Image, ImportJob
from core.jobs.models import JobState
from core.people.models import Delivery, DeliveryState
from office.operations.selectors.broker import UnreachableError, messages_waiting
from research.inference.models import UNFINISHED_STATES, Run, RunState, Worker
from research.inference.selectors.runs import THERE_FOR
from research.inference.services.worker_status import DEFAULT, GPU
from research.scoring.models import Pass

KEPT_S = 10.0
"""How long the same figures are returned."""

Samples = Sequence[tuple[dict[str, str], float]]


@dataclass(frozen=True)
class GaugeLevel:
    """A gauge without samples if its value cannot be read."""

    name: str
    help: str
    samples: Samples


def gauge_levels() -> list[GaugeLevel]:
    """Return the values, at most `KEPT_S` old; every process keeps its own."""
    return levels_at(time.monotonic() // KEPT_S)


@lru_cache(maxsize=1)
def levels_at(_moment: float) -> list[GaugeLevel]:
    return [*_of_the_database(timezone.now()), _of_the_broker()]


def _of_the_database(now: datetime) -> list[GaugeLevel]:
    """Each is counted by an index over open rows, or in a table that stays small."""
    try:
        waiting, oldest = _jobs(now)
        going = dict.fromkeys((state.value for state in UNFINISHED_STATES), 0)
        going |= dict(_counts(Run, Q(state__in=UNFINISHED_STATES)))
        return [
            GaugeLevel(
                "crosslens_open_batches",
                "Open batches.",
                [({}, Batch.objects.filter(state=BatchState.OPEN).count())],
            ),
            GaugeLevel(
                "crosslens_runs", "Runs that are not over.", [({"state": state}, n) for state, n in going.items()]
            ),
            GaugeLevel("crosslens_jobs_waiting", "Work that no worker has begun.", waiting),
            GaugeLevel("crosslens_oldest_waiting_seconds", "How long the oldest of them has waited.", oldest),
            GaugeLevel(
                "crosslens_workers",
                "Worker processes heard of lately.",
                [({}, Worker.objects.filter(seen_at__gte=now - THERE_FOR).count())],
            ),
        ]
    except DatabaseError:
        # Counted where it was raised.
        return []


def _counts(model: type[Model], which: Q) -> Iterable[tuple[str, int]]:
    return model._default_manager.filter(which).order_by().values_list("state").annotate(count=Count("pk"))


def _jobs(now: datetime) -> tuple[Samples, Samples]:
    queued = Q(state=JobState.QUEUED)
    queues = {
        "imports": (ImportJob, queued, "created_at"),
        "images": (Image, queued, "created_at"),
        "runs": (Run, Q(state=RunState.QUEUED), "created_at"),
        "scores": (Pass, queued, "asked_at"),
        "releases": (Release, queued, "created_at"),
        "deliveries": (Delivery, Q(state=DeliveryState.WAITING, due_at__lte=now), "due_at"),
    }
    waiting, oldest = [], []
    for kind, (model, which, since) in queues.items():
        figures = model._default_manager.filter(which).order_by().aggregate(count=Count("pk"), first=Min(since))
        waiting.append(({"kind": kind}, float(figures["count"])))
        age = (now - figures["first"]).total_seconds() if figures["first"] else 0.0
        oldest.append(({"kind": kind}, max(0.0, age)))
    return waiting, oldest


def _of_the_broker() -> GaugeLevel:
    try:
        samples = [({"queue": queue}, float(count)) for queue, count in messages_waiting((DEFAULT, GPU)).items()]
    except UnreachableError:
        samples = []
    return GaugeLevel("crosslens_queue_messages", "Messages that no worker has taken.", samples)
