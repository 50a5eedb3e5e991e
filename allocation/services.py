"""Handing out work and taking it back, one transaction each.

Locks are always taken in this order: person, pool, batch, tasks (by primary key); what apps lock besides stands in
docs/decisions/0039-one-order-of-locks.md. Only `_take_free` takes tasks out of order, and it never waits for one
(`SKIP LOCKED`), so nobody can wait for each other in a circle.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Greatest

from allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task, TaskQuerySet
from people.models import User

BUSY_PAUSES_S = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
SHUFFLE_KEYS = 2**31
SWEEP_AT_ONCE = 500

Prepare = Callable[[Batch, list[Assignment]], None]


class PoolBusyError(Exception):
    """Places are open, but others are taking all of them right now: try again in a moment."""


class PoolClosedError(Exception):
    """No new batches are handed out from this pool at present."""


class LeaseExpiredError(Exception):
    """The lease is over: the batch can be taken up again, as far as its tasks are still free."""


class BatchReturnedError(Exception):
    """The batch was given back; it can be taken up again, as far as its tasks are still free."""


class NoTasksAvailableError(Exception):
    """Everything in this batch has gone to other people since."""


class BatchClosedError(Exception):
    """The batch is in nobody's hands any more: handed in, given back, or its time ran out."""


class OpenBatchExistsError(Exception):
    """The person already has an open batch of this pool."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(batch.pk)
        self.batch = batch


def take_batch(
    *,
    pool: Pool,
    person: User,
    now: datetime,
    rng: Random,
    prepare: Prepare,
    without: Q | None = None,
) -> Batch | None:
    """Hand `person` up to `pool.batch_size` open tasks, or None when none is left for them.

    Whoever has an open batch of the pool gets that one again. `without` leaves out tasks besides those that the
    person had before; `prepare` makes the rows of the app whose work it is, in the same transaction.

    Raises
    ------
    PoolClosedError
        The pool hands out nothing at present.
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
            _hold_pool(pool)
            assigned = _open_batch(pool, person, now)
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


def lock_person(person: User) -> None:
    """Make the tabs of one person take turns; the lock leaves foreign keys to the person free."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=person.pk)


def stop_handing_out(*, pool: Pool) -> None:
    """Close a pool: once this returns, nobody gets a batch of it any more who has not got it already.

    Call within a transaction that has locked none of its batches and tasks yet.
    """
    Pool.objects.select_for_update().get(pk=pool.pk)
    Pool.objects.filter(pk=pool.pk).update(is_open=False)
    pool.is_open = False


def _hold_pool(pool: Pool) -> None:
    """Read a pool anew, as it then stays until the transaction ends: who closes it waits for whoever holds it.

    A foreign key to it takes the same lock, so those who hold it do not wait for each other.
    """
    if connection.features.has_select_for_update:
        table = connection.ops.quote_name(Pool._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR KEY SHARE", [pool.pk])  # noqa: S608
    pool.refresh_from_db()


def _open_batch(pool: Pool, person: User, now: datetime) -> Batch | None:
    batch = _lock_open_batches(pool, person).first()
    if batch and batch.deadline <= now:
        _let_go(batch, BatchState.EXPIRED, AssignmentState.EXPIRED, now)
        return None
    return batch


def _lock_open_batches(pool: Pool, person: User) -> QuerySet[Batch]:
    return Batch.objects.select_for_update(no_key=True).filter(pool=pool, person=person, state=BatchState.OPEN)


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


def is_half_over(*, batch: Batch, now: datetime) -> bool:
    return batch.deadline - now < timedelta(seconds=batch.lease_s) / 2


def renew_lease(*, batch: Batch, now: datetime) -> None:
    """Give a full lease again once half of it is gone: whoever is at work does not lose the batch while at it."""
    if is_half_over(batch=batch, now=now):
        deadline = now + timedelta(seconds=batch.lease_s)
        Batch.objects.filter(pk=batch.pk, state=BatchState.OPEN, deadline__gt=now).update(deadline=deadline)


def finish_batch(*, batch: Batch, now: datetime) -> bool:
    """Close a locked batch with its work done. True if that counts; False if the lease ran out before: it came late."""
    expire_batch(batch=batch, now=now)
    if batch.state != BatchState.OPEN:
        batch.assignments.filter(state=AssignmentState.EXPIRED).update(state=AssignmentState.LATE)
        return False
    batch.assignments.filter(state=AssignmentState.ASSIGNED).update(state=AssignmentState.DONE)
    _close(batch, BatchState.DONE, now)
    return True


def finish_assignment(*, assignment: Assignment) -> None:
    """Count one task of a locked open batch as done, whatever becomes of the rest of the batch."""
    Assignment.objects.filter(pk=assignment.pk, state=AssignmentState.ASSIGNED).update(state=AssignmentState.DONE)


def reopen_assignment(*, assignment: Assignment) -> None:
    """Undo `finish_assignment` while the batch is still locked and open: the place stays this person's."""
    Assignment.objects.filter(pk=assignment.pk, state=AssignmentState.DONE).update(state=AssignmentState.ASSIGNED)


def reject_work(*, pool: Pool, person: User, now: datetime) -> int:
    """Set aside all that `person` did in `pool` and has in hand, so that others do it; returns how many tasks.

    Call within a transaction. The assignments stay, so no task comes to the person again.
    """
    return reject_all_work(pools=Pool.objects.filter(pk=pool.pk), person=person, now=now)


def reject_all_work(*, pools: QuerySet[Pool], person: User, now: datetime) -> int:
    """As `reject_work`, in several pools at once."""
    lock_person(person)
    theirs = Assignment.objects.filter(batch__pool__in=pools, person=person)
    assigned = _lock_unfinished_batches(pools, person)
    _lock_tasks(theirs.filter(state__in=[AssignmentState.ASSIGNED, AssignmentState.DONE]))
    for batch in assigned:
        _let_go(batch, BatchState.RETURNED, AssignmentState.RETURNED, now)
    return set_aside(assignments=theirs)


def set_aside(*, assignments: QuerySet[Assignment]) -> int:
    """Have those of `assignments` that are done count no longer, so that others do them; returns how many.

    Call within a transaction that has locked the person; all `assignments` are theirs.
    """
    finished = assignments.filter(state=AssignmentState.DONE)
    _lock_tasks(finished)
    done = defaultdict(list)
    for pool_id, task_id in finished.values_list("batch__pool", "task"):
        done[pool_id].append(task_id)
    for pool_id in sorted(done):
        _free_places(pool_id, done[pool_id])
    return finished.update(state=AssignmentState.REJECTED)


def return_all_work(*, pools: QuerySet[Pool], person: User, now: datetime) -> int:
    """Give back all that `person` has in hand in `pools`; returns how many batches. Call within a transaction."""
    lock_person(person)
    assigned = _lock_unfinished_batches(pools, person)
    return len(return_batches(batches=Batch.objects.filter(pk__in=[batch.pk for batch in assigned]), now=now))


def _lock_unfinished_batches(pools: QuerySet[Pool], person: User) -> list[Batch]:
    """Lock whatever `person` could still hand in, were it late; returns what is in hand."""
    theirs = Batch.objects.filter(pool__in=pools, person=person).exclude(state=BatchState.DONE)
    locked = theirs.order_by("pk").select_for_update(no_key=True, of=("self",))
    return [batch for batch in locked if batch.state == BatchState.OPEN]


def restore_work(*, assignments: QuerySet[Assignment]) -> list[int]:
    """Have work that was set aside count again where its place is still free; returns the assignments that do.

    Call within a transaction that has locked the person; all `assignments` are theirs.
    """
    set_aside = assignments.filter(state=AssignmentState.REJECTED)
    _lock_tasks(set_aside)
    free = list(set_aside.filter(task__places_taken__lt=F("task__places")).values_list("pk", "task_id"))
    Task.objects.filter(pk__in=[task for _, task in free]).update(places_taken=F("places_taken") + 1)
    restored = [pk for pk, _ in free]
    Assignment.objects.filter(pk__in=restored).update(state=AssignmentState.DONE)
    return restored


def change_replication(*, pool: Pool, replication: int) -> int:
    """Ask for more or fewer people per task; returns how many tasks keep more places than that, as people took them.

    Call within a transaction that keeps others from adding tasks.
    """
    Pool.objects.filter(pk=pool.pk).update(replication=replication)
    tasks = Task.objects.filter(pool=pool.pk)
    # Locked by primary key first, as those do who let a batch go, so that nobody waits in a circle; all of them, as
    # what is let go right now is still trimmed to the replication before.
    list(tasks.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    tasks.exclude(places=replication).update(places=Greatest(F("places_taken"), replication))
    return tasks.filter(places__gt=replication).count()


def return_batch(*, batch: Batch, now: datetime) -> None:
    """Give the places of a locked open batch back."""
    if batch.state == BatchState.OPEN:
        _let_go(batch, BatchState.RETURNED, AssignmentState.RETURNED, now)


def resume_batch(*, batch_id: UUID, person: User, now: datetime) -> Batch:
    """Take a expired or returned batch up again, as far as its places are still free.

    Raises
    ------
    PoolClosedError, NoTasksAvailableError, OpenBatchExistsError
    """
    with transaction.atomic():
        lock_person(person)
        pool = Batch.objects.select_related("pool").get(pk=batch_id, person=person).pool
        _hold_pool(pool)
        batch = Batch.objects.select_for_update(no_key=True).get(pk=batch_id)
        batch.pool = pool
        if batch.state == BatchState.OPEN:
            if batch.deadline > now:
                return batch
            _let_go(batch, BatchState.EXPIRED, AssignmentState.EXPIRED, now)
        if batch.state == BatchState.DONE:
            raise NoTasksAvailableError
        if not batch.pool.is_open:
            raise PoolClosedError
        let_go = batch.assignments.filter(state__in=[AssignmentState.EXPIRED, AssignmentState.RETURNED])
        overdue = Assignment.objects.filter(
            batch__in=[other.pk for other in _lock_open_batches(batch.pool, person)], state=AssignmentState.ASSIGNED
        )
        _lock_tasks(let_go | overdue)
        assigned = _open_batch(batch.pool, person, now)
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
    """Give a batch in hand to somebody else: returns theirs, a new one, and how many tasks could not come along.

    These are the ones that `to` had before or that are in `without`; they are free for anybody. Whoever had the batch
    keeps what they made of it, as if they had given it back.

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
        _hold_pool(pool)
        batch = Batch.objects.select_for_update(no_key=True).get(pk=batch_id)
        batch.pool = pool
        if batch.state != BatchState.OPEN or batch.deadline <= now:
            raise BatchClosedError
        if not batch.pool.is_open:
            raise PoolClosedError
        assigned = batch.assignments.filter(state=AssignmentState.ASSIGNED)
        overdue = Assignment.objects.filter(
            batch__in=[other.pk for other in _lock_open_batches(batch.pool, to)], state=AssignmentState.ASSIGNED
        )
        _lock_tasks(assigned | overdue)
        there = _open_batch(batch.pool, to, now)
        if there:
            raise OpenBatchExistsError(there)
        in_order = list(assigned.order_by("position").values_list("task_id", flat=True))
        _let_go(batch, BatchState.RETURNED, AssignmentState.RETURNED, now)
        # All of them are locked, so that nobody takes one between its being freed and its being taken.
        found = Task.objects.open_for(to, batch.pool).filter(pk__in=in_order).exclude(without or Q(pk__in=[]))
        tasks = sorted(found, key=lambda task: in_order.index(task.pk))
        if not tasks:
            raise NoTasksAvailableError
        return _assign(batch.pool, to, tasks, now, prepare), len(in_order) - len(tasks)


def expire_batch(*, batch: Batch, now: datetime) -> None:
    """Give back the places of a locked batch whose lease has run out."""
    if batch.state == BatchState.OPEN and batch.deadline <= now:
        _let_go(batch, BatchState.EXPIRED, AssignmentState.EXPIRED, now)


def expire_overdue(*, now: datetime, pool: Pool | None = None) -> int:
    """Give back the places of every batch whose lease has run out; returns how many batches that were."""
    overdue = Batch.objects.filter(state=BatchState.OPEN, deadline__lte=now)
    if pool:
        overdue = overdue.filter(pool=pool)
    expired = 0
    for pk in list(overdue.order_by("deadline").values_list("pk", flat=True)[:SWEEP_AT_ONCE]):
        with transaction.atomic():
            batch = overdue.select_for_update(no_key=True, skip_locked=True).filter(pk=pk).first()
            if batch:
                _let_go(batch, BatchState.EXPIRED, AssignmentState.EXPIRED, now)
                expired += 1
    return expired


def return_batches(*, batches: QuerySet[Batch], now: datetime) -> list[Batch]:
    """Give the places of all `batches` in hand back, in one transaction that is open; returns those it was done to."""
    return _let_all_go(batches.filter(state=BatchState.OPEN), now)


def expire_batches(*, batches: QuerySet[Batch], now: datetime) -> list[Batch]:
    """As `return_batches`, of those whose lease has run out."""
    return _let_all_go(batches.filter(state=BatchState.OPEN, deadline__lte=now), now)


def _let_all_go(batches: QuerySet[Batch], now: datetime) -> list[Batch]:
    locked = list(batches.order_by("pk").select_for_update(no_key=True, of=("self",)))
    _lock_tasks(Assignment.objects.filter(batch__in=locked, state=AssignmentState.ASSIGNED))
    for batch in locked:
        if batch.deadline <= now:
            _let_go(batch, BatchState.EXPIRED, AssignmentState.EXPIRED, now)
        else:
            _let_go(batch, BatchState.RETURNED, AssignmentState.RETURNED, now)
    return locked


def _let_go(batch: Batch, state: BatchState, assignment_state: AssignmentState, now: datetime) -> None:
    assigned = batch.assignments.filter(state=AssignmentState.ASSIGNED)
    tasks = list(assigned.values_list("task_id", flat=True))
    _free_places(batch.pool_id, tasks)
    assigned.update(state=assignment_state)
    # Where each task is done by itself, nothing of a batch may be left to let go.
    _close(batch, state if tasks else BatchState.DONE, now)


def _lock_tasks(assignments: QuerySet[Assignment]) -> None:
    """Lock at once all tasks that a step frees or takes: in two rounds, each in order, two could wait in a circle."""
    tasks = Task.objects.filter(pk__in=assignments.values("task")).order_by("pk").select_for_update(no_key=True)
    list(tasks.values_list("pk", flat=True))


def _free_places(pool_id: int, task_ids: Iterable[int]) -> None:
    # Locked by primary key first: two batches let go at once update the same tasks in the same order.
    locked = Task.objects.filter(pk__in=list(task_ids)).order_by("pk").select_for_update(no_key=True)
    freed = Task.objects.filter(pk__in=[task.pk for task in locked])
    freed.update(places_taken=F("places_taken") - 1)
    # A place above a replication that was lowered meanwhile goes with who had it.
    replication = Pool.objects.values_list("replication", flat=True).get(pk=pool_id)
    freed.filter(places__gt=replication).update(places=Greatest(F("places_taken"), replication))


def _close(batch: Batch, state: BatchState, now: datetime) -> None:
    batch.state, batch.closed_at = state, now
    batch.save(update_fields=["state", "closed_at"])
