"""Assign tasks: take a batch, resume it, or move it to somebody else."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from core.allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task
from core.allocation.services.errors import (
    BatchClosedError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolBusyError,
    PoolClosedError,
)
from core.allocation.services.lifecycle import end_lease, expire_batch, expire_overdue, open_batch_of
from core.allocation.services.locks import (
    FreeTasks,
    lock_batch,
    lock_open_batches,
    lock_people,
    lock_pool_shared,
    lock_tasks_of,
)
from core.people.models import User
from core.people.services.members import lock_person

BUSY_PAUSES_S = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
SHUFFLE_KEYS = 2**31
ALL_TASKS = FreeTasks()
Prepare = Callable[[Batch, list[Assignment]], None]


Limit = Callable[[User, Pool, Batch | None], None]
"""Raises where the person may have no more batches of the pool; the batch is one that is to be resumed."""
_limits: list[Limit] = []


def limit_batches(limit: Limit) -> None:
    """Register a limit of an app above. It is asked with the person locked, whenever somebody is to have a batch."""
    _limits.append(limit)


def _check_limits(person: User, pool: Pool, resumed: Batch | None = None) -> None:
    for limit in _limits:
        limit(person, pool, resumed)


def take_batch(
    *,
    pool: Pool,
    person: User,
    now: datetime,
    rng: Random,
    prepare: Prepare,
    tasks: FreeTasks = ALL_TASKS,
    project: int = 0,
) -> Batch | None:
    """Assign up to `pool.batch_size` open tasks to `person`, or return None when none is left for them.

    An open batch of the pool is returned again. `tasks` can exclude more than those the person had before; `prepare`
    adds the app's own rows in the same transaction.

    Raises PoolClosedError: the pool is closed. Raises PoolBusyError: tasks are open, but rivals are taking all of them
    right now.
    """
    batch = _try_to_take(pool, person, now, rng, prepare, tasks, project)
    if batch is None and expire_overdue(now=now, pool=pool):
        batch = _try_to_take(pool, person, now, rng, prepare, tasks, project)
    return batch


def _try_to_take(
    pool: Pool, person: User, now: datetime, rng: Random, prepare: Prepare, tasks: FreeTasks, project: int
) -> Batch | None:
    for pause_s in BUSY_PAUSES_S:
        time.sleep(pause_s)
        is_last_try = pause_s == BUSY_PAUSES_S[-1]
        with transaction.atomic(durable=True):
            lock_person(person)
            lock_pool_shared(pool)
            assigned = open_batch_of(pool, person, now)
            if assigned:
                return assigned
            if not pool.is_open:
                raise PoolClosedError
            # A random start spreads rivals over the pool, and a person who did most of it need not skip all that again.
            locked = tasks.lock(person, pool, project, start=rng.randrange(SHUFFLE_KEYS))
            if len(locked) < pool.batch_size:
                # Either these are the last, or rivals have locked others: then nobody should get a crumb.
                free = tasks.open_for(person, pool, project).values_list("pk", flat=True)[: pool.batch_size]
                if len(free) > len(locked) and not (is_last_try and locked):
                    continue
            if not locked:
                return None
            return _assign(pool, person, locked, now, prepare)
    raise PoolBusyError(pool.pk)


def _assign(pool: Pool, person: User, tasks: list[Task], now: datetime, prepare: Prepare) -> Batch:
    _check_limits(person, pool)
    Task.objects.filter(pk__in=[task.pk for task in tasks]).update(places_taken=F("places_taken") + 1)
    deadline = now + timedelta(seconds=pool.lease_s)
    batch = Batch.objects.create(pool=pool, person=person, taken_at=now, lease_s=pool.lease_s, deadline=deadline)
    assignments = Assignment.objects.bulk_create(
        Assignment(task=task, batch=batch, person=person, position=position)
        for position, task in enumerate(tasks, start=1)
    )
    prepare(batch, assignments)
    return batch


def resume_batch(*, batch_id: UUID, person: User, now: datetime, without: Q | None = None) -> Batch:
    """Resume an expired or returned batch: assign again the tasks that still have a free place.

    None that `without` excludes. Raises PoolClosedError, NoTasksAvailableError or OpenBatchExistsError.
    """
    with transaction.atomic():
        batch = _lock_to_change(Batch.objects.filter(pk=batch_id, person=person), person)
        if batch.is_open_at(now):
            return batch
        expire_batch(batch=batch, now=now)
        if batch.state == BatchState.DONE:
            raise NoTasksAvailableError
        if not batch.pool.is_open:
            raise PoolClosedError
        _check_limits(person, batch.pool, batch)
        let_go = batch.assignments.filter(state__in=[AssignmentState.EXPIRED, AssignmentState.RETURNED])
        _lock_tasks_without_open_batch(let_go, batch.pool, person, now)
        with_places = Task.objects.filter(assignments__in=let_go, is_open=True).without(without)
        free = list(with_places.values_list("pk", flat=True))
        if not free:
            raise NoTasksAvailableError
        Task.objects.filter(pk__in=free).update(places_taken=F("places_taken") + 1)
        let_go.exclude(task__in=free).update(state=AssignmentState.REASSIGNED)
        let_go.update(state=AssignmentState.ASSIGNED)
        batch.state = BatchState.OPEN
        batch.lease_s = batch.pool.lease_s
        batch.deadline = now + timedelta(seconds=batch.lease_s)
        batch.closed_at = None
        batch.save(update_fields=["state", "lease_s", "deadline", "closed_at"])
        return batch


def move_batch(
    *, batch_id: UUID, to: User, now: datetime, prepare: Prepare, without: Q | None = None
) -> tuple[Batch, int]:
    """Reassign an open batch. Returns the new batch of `to`, and how many tasks could not be moved.

    A task cannot be moved if `to` had it before or `without` excludes it; anybody else can then take it. The person who
    had the batch keeps their drafts, as after returning it.

    Raises Batch.DoesNotExist, BatchClosedError or PoolClosedError. Raises NoTasksAvailableError: none of its tasks may
    come to `to`; nothing was changed. Raises OpenBatchExistsError: `to` has an open batch of the pool already.
    """
    with transaction.atomic():
        holder = Batch.objects.select_related("person").only("person__id").get(pk=batch_id).person
        batch = _lock_to_change(Batch.objects.filter(pk=batch_id), holder, to)
        if not batch.is_open_at(now):
            raise BatchClosedError
        if not batch.pool.is_open:
            raise PoolClosedError
        assigned = batch.assignments.filter(state=AssignmentState.ASSIGNED)
        _lock_tasks_without_open_batch(assigned, batch.pool, to, now)
        in_order = list(assigned.order_by("position").values_list("task_id", flat=True))
        end_lease(batch, BatchState.RETURNED, now)
        # All of them are locked, so nobody can take one that is free for this instant.
        movable = Task.objects.open_for(to, batch.pool).filter(pk__in=in_order).without(without)
        tasks = sorted(movable, key=lambda task: in_order.index(task.pk))
        if not tasks:
            raise NoTasksAvailableError
        return _assign(batch.pool, to, tasks, now, prepare), len(in_order) - len(tasks)


def _lock_to_change(batches: QuerySet[Batch], *people: User) -> Batch:
    """Lock the people, the pool (which cannot be closed meanwhile) and the one batch of `batches`."""
    lock_people(people)
    asked = batches.select_related("pool").get()
    lock_pool_shared(asked.pool)
    batch = lock_batch(asked.pk)
    batch.pool = asked.pool
    return batch


def _lock_tasks_without_open_batch(assignments: QuerySet[Assignment], pool: Pool, person: User, now: datetime) -> None:
    """Lock the tasks of `assignments`, which `person` is to get, and those of a batch of theirs that expires with this.

    Raises OpenBatchExistsError.
    """
    other = [batch.pk for batch in lock_open_batches(pool, person)]
    lock_tasks_of(assignments | Assignment.objects.filter(batch__in=other, state=AssignmentState.ASSIGNED))
    if batch := open_batch_of(pool, person, now):
        raise OpenBatchExistsError(batch)
