"""How far the work of pools is, and what people see of their batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, Sum

from core.allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task
from core.allocation.rules.outlooks import BatchOutlook, MeasuredPace, TimedWork, pace_of_others
from core.languages.models import Language
from core.people.models import Project, User
from core.people.selectors.qualification import MissingRequirement
from core.people.selectors.rates import WorkKey, promises_to

LEASE_COLUMNS = {
    "batch": F("lease"),
    "state": F("lease__state"),
    "taken_at": F("lease__taken_at"),
    "deadline": F("lease__deadline"),
    "closed_at": F("lease__closed_at"),
}
"""What a data export says of every batch."""


@dataclass(frozen=True, kw_only=True)
class LeaseHead:
    """A batch as its lease knows it."""

    id: UUID
    size: int
    state: BatchState
    deadline: datetime
    is_late: bool

    @property
    def is_open(self) -> bool:
        return self.state == BatchState.OPEN and not self.is_late


@dataclass(frozen=True, kw_only=True)
class BatchHead(LeaseHead):
    """The head of every page of a batch."""

    project: Project
    language: Language


HeadT = TypeVar("HeadT", bound=BatchHead)


@dataclass(frozen=True, kw_only=True)
class OwnWork(Generic[HeadT]):
    """A round or a comparison as one person sees it."""

    project: Project
    language: Language
    open_batch: HeadT | None
    resumable: Sequence[HeadT]
    missing_requirements: Sequence[MissingRequirement]
    is_anything_left: bool
    pool: Pool
    batch_size: int
    outlook: BatchOutlook | None = None

    @property
    def has_something_to_do(self) -> bool:
        return bool(self.open_batch or self.resumable or self.is_anything_left)

    @property
    def key(self) -> WorkKey:
        return self.project.pk, self.language.pk

    @property
    def can_be_taken(self) -> bool:
        return self.is_anything_left and not self.missing_requirements

    @property
    def lies_ahead(self) -> bool:
        """Whether the person can take a batch, now or once they have done what is missing, if they can do it all."""
        return self.is_anything_left and all(
            missing.url_name and not missing.is_final for missing in self.missing_requirements
        )


WorkT = TypeVar("WorkT", bound=OwnWork[Any])
Times = Mapping[WorkKey, Mapping[int, TimedWork]]
"""The work of one kind that people did in each language of a project, by person."""
TimesOf = Callable[[Collection[int], Collection[str] | None], Times]
"""Returns the times of some projects, in some languages or, if None is given, in all."""


def with_outlooks(person: User, works: Sequence[WorkT], times_of: TimesOf, now: datetime) -> list[WorkT]:
    """Add to each of `works` what a batch of it would be; the number of queries does not depend on how many."""
    projects = {work.project.pk for work in works}
    times, promised = times_of(projects, {work.language.pk for work in works}), promises_to(person, projects)
    pace_of = _paces_of_others(person, works, times, times_of)
    return [
        replace(
            work,
            outlook=BatchOutlook(
                size=work.batch_size,
                deadline=now + timedelta(seconds=work.pool.lease_s),
                pace=pace_of(work.key),
                pay=promised(work.key),
                own=times.get(work.key, {}).get(person.pk, TimedWork()),
            ),
        )
        for work in works
    ]


def _paces_of_others(
    person: User, works: Sequence[WorkT], times: Times, times_of: TimesOf
) -> Callable[[WorkKey], MeasuredPace | None]:
    """Measure each language; the whole project only where one has too few people, since it may be much to read."""
    paces = {work.key: pace_of_others(times.get(work.key, {}), person.pk) for work in works}
    unmeasured = {project for (project, _tag), pace in paces.items() if pace is None}
    in_all: dict[int, dict[int, TimedWork]] = defaultdict(lambda: defaultdict(TimedWork))
    for (project, _tag), people in times_of(unmeasured, None).items() if unmeasured else ():
        for other, time in people.items():
            in_all[project][other] += time
    return lambda key: paces[key] or pace_of_others(in_all[key[0]], person.pk, in_all_languages=True)


def lease_fields(lease: Batch, *, now: datetime) -> dict[str, Any]:
    """Return the fields of a `LeaseHead` that come from its lease."""
    state = BatchState(lease.state)
    return {"id": lease.pk, "state": state, "deadline": lease.deadline, "is_late": lease.is_late_at(now)}


def open_and_resumable(heads: Iterable[tuple[int, HeadT]]) -> tuple[dict[int, HeadT], dict[int, list[HeadT]]]:
    """Sort unfinished batches by round or comparison: the open one of each, and those that can be resumed."""
    assigned, resumable = {}, defaultdict(list)
    for work_id, head in heads:
        if head.is_open:
            assigned[work_id] = head
        else:
            resumable[work_id].append(head)
    return assigned, resumable


def pools_with_tasks_for(person: User, pools: Collection[int], *, without: Q | None = None) -> set[int]:
    """Return the open ones of `pools` with a task for `person` that `without` does not exclude."""
    tasks = Task.objects.open_for(person, OuterRef("pk")).without(without)
    return set(Pool.objects.filter(Exists(tasks), pk__in=pools, is_open=True).values_list("pk", flat=True))


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


@dataclass(frozen=True, kw_only=True)
class BatchEnd(Generic[WorkT]):
    """What comes after a batch. `work` is None if it is over for the person, `progress` everybody's.

    `kept_until` is the first deadline of the other batches that the person has.
    """

    work: WorkT | None
    may_go_on: bool
    progress: PoolProgress
    kept_until: datetime | None


def end_of(batch: Batch, works: Sequence[WorkT], times_of: TimesOf, now: datetime) -> BatchEnd[WorkT]:
    """Return what comes after `batch`, which is of one of `works` of its person."""
    own = [work for work in works if work.pool.pk == batch.pool_id]
    work = next(iter(with_outlooks(batch.person, own, times_of, now)), None)
    others = Batch.objects.filter(person=batch.person_id, state=BatchState.OPEN, deadline__gt=now).exclude(pk=batch.pk)
    return BatchEnd(
        work=work,
        may_go_on=bool(work and work.can_be_taken and not others.filter(pool=batch.pool_id).exists()),
        progress=progress_of_pools([batch.pool_id], now=now)[batch.pool_id],
        kept_until=others.order_by("deadline").values_list("deadline", flat=True).first(),
    )
