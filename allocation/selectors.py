"""Progress of pools."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, Sum

from allocation.models import Assignment, AssignmentState, Task


@dataclass(frozen=True, kw_only=True)
class PoolProgress:
    """The progress of one pool. All except `tasks` and `at_work`, which counts people, count answers to tasks."""

    tasks: int
    wanted: int
    done: int
    assigned: int
    expired: int
    late: int
    at_work: int

    @property
    def open(self) -> int:
        return self.wanted - self.done - self.assigned

    @property
    def is_finished(self) -> bool:
        return 0 < self.wanted == self.done


def progress_of_pools(pools: Collection[int], *, now: datetime) -> dict[int, PoolProgress]:
    """Compute progress in the database from places and unfinished work; finished work is not read."""
    places = {row["pool"]: row for row in _places(pools)}
    unfinished = {row["batch__pool"]: row for row in _unfinished(pools, now)}
    return {pool: _progress(places.get(pool, {}), unfinished.get(pool, {})) for pool in pools}


def _progress(places: Mapping[str, Any], unfinished: Mapping[str, Any]) -> PoolProgress:
    assigned, overdue = unfinished.get("assigned", 0), unfinished.get("overdue", 0)
    return PoolProgress(
        tasks=places.get("tasks", 0),
        wanted=places.get("wanted", 0),
        # A place is taken by an answer that counts or by an open assignment; only the latter, which are few, are
        # counted.
        done=places.get("taken", 0) - assigned - overdue,
        assigned=assigned,
        expired=unfinished.get("expired", 0) + overdue,
        late=unfinished.get("late", 0),
        at_work=unfinished.get("at_work", 0),
    )


def _places(pools: Iterable[int]) -> Iterable[Mapping[str, Any]]:
    return (
        Task.objects.filter(pool__in=pools)
        .values("pool")
        .annotate(tasks=Count("pk"), wanted=Sum("places"), taken=Sum("places_taken"))
        .order_by()
    )


def _unfinished(pools: Iterable[int], now: datetime) -> Iterable[Mapping[str, Any]]:
    assigned = Q(state=AssignmentState.ASSIGNED)
    # Most are done; leaving them out leaves little to count.
    unfinished = [AssignmentState.ASSIGNED, AssignmentState.EXPIRED, AssignmentState.LATE]
    return (
        Assignment.objects.filter(state__in=unfinished, batch__pool__in=pools)
        .values("batch__pool")
        .annotate(
            assigned=Count("pk", filter=assigned & Q(batch__deadline__gt=now)),
            at_work=Count("person", filter=assigned & Q(batch__deadline__gt=now), distinct=True),
            overdue=Count("pk", filter=assigned & Q(batch__deadline__lte=now)),
            expired=Count("pk", filter=Q(state=AssignmentState.EXPIRED)),
            late=Count("pk", filter=Q(state=AssignmentState.LATE)),
        )
        .order_by()
    )
