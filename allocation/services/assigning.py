"""Assign tasks: take a batch, resume it, or move it to somebody else."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q

from allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task, TaskQuerySet
from allocation.services.errors import (
    BatchClosedError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolBusyError,
    PoolClosedError,
)
from allocation.services.lifecycle import end_lease, expire_overdue, open_batch_of
from allocation.services.locks import lock_open_batches, lock_person, lock_pool_shared, lock_tasks
from people.models import User

BUSY_PAUSES_S = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
SHUFFLE_KEYS = 2**31
Prepare = Callable[[Batch, list[Assignment]], None]


def take_batch(
    *, pool: Pool, person: User, now: datetime, rng: Random, prepare: Prepare, without: Q | None = None
) -> Batch | None:
    """Assign up to `pool.batch_size` open tasks to `person`, or return None when none is left for them.

    An open batch of the pool is returned again. `without` excludes more tasks than those the person had before;
    `prepare` adds the app's own rows in the same transaction.

    Raises
    ------
    PoolClosedError
        The pool is closed.
    PoolBusyError
        Tasks are open, but rivals are taking all of them right now.
    """
    batch = _try_to_take(pool, person, now, rng, prepare, without)
    if batch is None and expire_overdue(now=now, pool=pool):
        batch = _try_to_take(pool, person, now, rng, prepare, without)
    return batch


def _try_to_take(
    pool: Pool, person: User, now: datetime, rng: Random, prepare: Prepare, without: Q | None
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
            open_tasks = Task.objects.open_for(person, pool).exclude(without or Q(pk__in=[]))
            tasks = _take_free(open_tasks, pool.batch_size, rng)
            if len(tasks) < pool.batch_size:
                # Either these are the last, or rivals hold some in this instant; nobody should get a crumb for that.
                free = open_tasks.values_list("pk", flat=True)[: pool.batch_size]
                if len(free) > len(tasks) and not (is_last_try and tasks):
                    continue
            if not tasks:
                return None
            return _assign(pool, person, tasks, now, prepare)
    raise PoolBusyError(pool.pk)


def _take_free(open_tasks: TaskQuerySet, size: int, rng: Random) -> list[Task]:
    """Lock up to `size` of `open_tasks`, beginning at a random place in the pool's order and going round once.

    The random start spreads rivals over the pool and keeps one who did most of it from skipping over it all again.
    """
    start = rng.randrange(SHUFFLE_KEYS)
    in_order = open_tasks.order_by("shuffle_key").select_for_update(skip_locked=True, no_key=True, of=("self",))
    tasks = list(in_order.filter(shuffle_key__gte=start)[:size])
    if len(tasks) < size:
        tasks += in_order.filter(shuffle_key__lt=start)[: size - len(tasks)]
    return tasks


def _assign(pool: Pool, person: User, tasks: list[Task], now: datetime, prepare: Prepare) -> Batch:
    Task.objects.filter(pk__in=[task.pk for task in tasks]).update(places_taken=F("places_taken") + 1)
    deadline = now + timedelta(seconds=pool.lease_s)
    batch = Batch.objects.create(pool=pool, person=person, taken_at=now, lease_s=pool.lease_s, deadline=deadline)
    assignments = Assignment.objects.bulk_create(
        Assignment(task=task, batch=batch, person=person, position=position)
        for position, task in enumerate(tasks, start=1)
    )
    prepare(batch, assignments)
    return batch


def resume_batch(*, batch_id: UUID, person: User, now: datetime) -> Batch:
    """Resume an expired or returned batch: assign again the tasks that still have a free place.

    Raises
    ------
    PoolClosedError, NoTasksAvailableError, OpenBatchExistsError
    """
    with transaction.atomic():
        lock_person(person)
        pool = Batch.objects.select_related("pool").get(pk=batch_id, person=person).pool
        lock_pool_shared(pool)
        batch = Batch.objects.select_for_update(no_key=True).get(pk=batch_id)
        batch.pool = pool
        if batch.state == BatchState.OPEN:
            if batch.deadline > now:
                return batch
            end_lease(batch, BatchState.EXPIRED, AssignmentState.EXPIRED, now)
        if batch.state == BatchState.DONE:
            raise NoTasksAvailableError
        if not batch.pool.is_open:
            raise PoolClosedError
        let_go = batch.assignments.filter(state__in=[AssignmentState.EXPIRED, AssignmentState.RETURNED])
        overdue = Assignment.objects.filter(
            batch__in=[other.pk for other in lock_open_batches(batch.pool, person)], state=AssignmentState.ASSIGNED
        )
        lock_tasks(let_go | overdue)
        assigned = open_batch_of(batch.pool, person, now)
        if assigned:
            raise OpenBatchExistsError(assigned)
        tasks = Task.objects.filter(assignments__in=let_go).order_by("pk").select_for_update(no_key=True, of=("self",))
        free = [task.pk for task in tasks if task.places_taken < task.places]
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

    Raises
    ------
    Batch.DoesNotExist, BatchClosedError, PoolClosedError
    NoTasksAvailableError
        None of its tasks may come to `to`; nothing was changed.
    OpenBatchExistsError
        `to` has an open batch of the pool already.
    """
    with transaction.atomic():
        holder = Batch.objects.select_related("person").only("person__id").get(pk=batch_id).person
        for person in sorted((holder, to), key=lambda one: one.pk):
            lock_person(person)
        pool = Batch.objects.select_related("pool").get(pk=batch_id).pool
        lock_pool_shared(pool)
        batch = Batch.objects.select_for_update(no_key=True).get(pk=batch_id)
        batch.pool = pool
        if batch.state != BatchState.OPEN or batch.deadline <= now:
            raise BatchClosedError
        if not batch.pool.is_open:
            raise PoolClosedError
        assigned = batch.assignments.filter(state=AssignmentState.ASSIGNED)
        overdue = Assignment.objects.filter(
            batch__in=[other.pk for other in lock_open_batches(batch.pool, to)], state=AssignmentState.ASSIGNED
        )
        lock_tasks(assigned | overdue)
        there = open_batch_of(batch.pool, to, now)
        if there:
            raise OpenBatchExistsError(there)
        in_order = list(assigned.order_by("position").values_list("task_id", flat=True))
        end_lease(batch, BatchState.RETURNED, AssignmentState.RETURNED, now)
        # All of them are locked, so that nobody takes one between its being freed and its being taken.
        open_tasks = Task.objects.open_for(to, batch.pool).filter(pk__in=in_order).exclude(without or Q(pk__in=[]))
        tasks = sorted(open_tasks, key=lambda task: in_order.index(task.pk))
        if not tasks:
            raise NoTasksAvailableError
        return _assign(batch.pool, to, tasks, now, prepare), len(in_order) - len(tasks)
