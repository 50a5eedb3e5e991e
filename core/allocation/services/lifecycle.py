"""Change the states and places of locked batches and of whole pools. `kinds` has the steps that people take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest

from core.allocation.models import NOT_SHOWN, Assignment, AssignmentState, Batch, BatchState, Pool, Sweep, Task
from core.allocation.services.locks import (
    lock_batches,
    lock_if_free,
    lock_open_batches,
    lock_pool,
    lock_tasks,
    lock_tasks_of,
    lock_unfinished_batches,
)
from core.compiled_query import save_columns
from core.people.models import User
from core.people.services.members import lock_person

SWEEP_AT_ONCE = 500


def open_batch_of(pool: Pool, person: User, now: datetime) -> Batch | None:
    """Lock and return the open batch of `person` in `pool`; past its deadline, it expires."""
    for batch in lock_open_batches(pool, person):  # there is one at most
        if batch.deadline > now:
            return batch
        end_lease(batch, BatchState.EXPIRED, now)
    return None


def is_half_over(*, batch: Batch, now: datetime) -> bool:
    return batch.deadline - now < timedelta(seconds=batch.lease_s) / 2


def renew_lease(*, batch: Batch, now: datetime) -> None:
    """Renew the lease in full in its second half, so that no batch expires while somebody works on it."""
    if is_half_over(batch=batch, now=now):
        deadline = now + timedelta(seconds=batch.lease_s)
        Batch.objects.filter(pk=batch.pk, state=BatchState.OPEN, deadline__gt=now).update(deadline=deadline)


def finish_batch(*, batch: Batch, now: datetime) -> bool:
    """Close a locked batch with its work done. Return whether it counts: False after the deadline."""
    expire_batch(batch=batch, now=now)
    if batch.state != BatchState.OPEN:
        batch.assignments.filter(state=AssignmentState.EXPIRED).update(state=AssignmentState.LATE)
        return False
    batch.assignments.filter(state=AssignmentState.ASSIGNED).update(state=AssignmentState.DONE)
    _close(batch, BatchState.DONE, now)
    return True


def finish_assignment(*, assignment: Assignment) -> None:
    """Count one task of a locked open batch, read since, as done, independently of the others."""
    if assignment.state == AssignmentState.ASSIGNED:
        assignment.state = AssignmentState.DONE
        save_columns(assignment, "state")


def reopen_assignment(*, assignment: Assignment) -> None:
    """Undo `finish_assignment` while the batch is still locked and open: the place stays this person's."""
    Assignment.objects.filter(pk=assignment.pk, state=AssignmentState.DONE).update(state=AssignmentState.ASSIGNED)


def skip_assignment(*, batch: Batch, assignment: Assignment) -> bool:
    """Give up one task of a locked batch for good; return False if it was done before, which it stays."""
    if assignment.state == AssignmentState.ASSIGNED:
        free_places(batch.pool_id, [assignment.task_id])
    if assignment.state in (AssignmentState.ASSIGNED, AssignmentState.EXPIRED, AssignmentState.RETURNED):
        assignment.state = AssignmentState.REPORTED
        save_columns(assignment, "state")
    return assignment.state in NOT_SHOWN


def return_batch(*, batch: Batch, now: datetime) -> None:
    """Free the places of a locked batch if it is open."""
    if batch.state == BatchState.OPEN:
        end_lease(batch, BatchState.RETURNED, now)


def expire_batch(*, batch: Batch, now: datetime) -> None:
    """Free the places of a locked batch if it is past its deadline."""
    if batch.state == BatchState.OPEN and batch.deadline <= now:
        end_lease(batch, BatchState.EXPIRED, now)


def expire_overdue(*, now: datetime, pool: Pool | None = None) -> int:
    """Expire every batch past its deadline; returns how many."""
    overdue = Batch.objects.filter(state=BatchState.OPEN, deadline__lte=now)
    if pool:
        overdue = overdue.filter(pool=pool)
    expired = 0
    for pk in list(overdue.order_by("deadline").values_list("pk", flat=True)[:SWEEP_AT_ONCE]):
        with transaction.atomic():
            if batch := lock_if_free(overdue, pk):
                end_lease(batch, BatchState.EXPIRED, now)
                expired += 1
    return expired


def return_batches(*, batches: QuerySet[Batch], now: datetime) -> list[Batch]:
    """Return those of `batches` that are open to their pools, in the current transaction, and list them."""
    return _let_all_go(batches.filter(state=BatchState.OPEN), now)


def expire_batches(*, batches: QuerySet[Batch], now: datetime) -> list[Batch]:
    """As `return_batches`, for those past their deadline."""
    return _let_all_go(batches.filter(state=BatchState.OPEN, deadline__lte=now), now)


def _let_all_go(batches: QuerySet[Batch], now: datetime) -> list[Batch]:
    locked = lock_batches(batches)
    lock_tasks_of(Assignment.objects.filter(batch__in=locked, state=AssignmentState.ASSIGNED))
    for batch in locked:
        end_lease(batch, BatchState.EXPIRED if batch.deadline <= now else BatchState.RETURNED, now)
    return locked


def end_lease(batch: Batch, state: BatchState, now: datetime) -> None:
    """Free the places of a locked batch and close it as expired or returned."""
    assigned = batch.assignments.filter(state=AssignmentState.ASSIGNED)
    tasks = list(assigned.values_list("task_id", flat=True))
    free_places(batch.pool_id, tasks)
    assigned.update(state=AssignmentState(state.value))
    # If each task is done by itself, all of a batch may be done already.
    _close(batch, state if tasks else BatchState.DONE, now)


def free_places(pool_id: int, task_ids: Iterable[int]) -> None:
    """Free one place of each task."""
    # Locked first: an update of many rows takes their locks in any order.
    freed = Task.objects.filter(pk__in=list(task_ids))
    lock_tasks(freed)
    freed.update(places_taken=F("places_taken") - 1)
    # If replication was lowered meanwhile, places above it go.
    replication = Pool.objects.values_list("replication", flat=True).get(pk=pool_id)
    freed.filter(places__gt=replication).update(places=Greatest(F("places_taken"), replication))


def _close(batch: Batch, state: BatchState, now: datetime) -> None:
    batch.state, batch.closed_at = state, now
    batch.save(update_fields=["state", "closed_at"])


def close_pool(*, pool: Pool) -> None:
    """Close a pool: after this returns, no further batch of it is assigned.

    Call within a transaction that has locked none of its batches and tasks yet.
    """
    lock_pool(pool)
    Pool.objects.filter(pk=pool.pk).update(is_open=False)
    pool.is_open = False


def reject_work(*, pool: Pool, person: User, now: datetime) -> int:
    """Exclude the work of `person` in `pool`, finished and assigned, so that others do it; return how many tasks.

    Call within a transaction. The assignments stay, so the tasks are never assigned to the person again.
    """
    return reject_all_work(pools=Pool.objects.filter(pk=pool.pk), person=person, now=now)


def reject_all_work(*, pools: QuerySet[Pool], person: User, now: datetime) -> int:
    """Do the same as `reject_work`, in several pools at once."""
    lock_person(person)
    theirs = Assignment.objects.filter(batch__pool__in=pools, person=person)
    assigned = lock_unfinished_batches(pools, person)
    lock_tasks_of(theirs.filter(state__in=[AssignmentState.ASSIGNED, AssignmentState.DONE]))
    for batch in assigned:
        end_lease(batch, BatchState.RETURNED, now)
    return set_aside(assignments=theirs)


def set_aside(*, assignments: QuerySet[Assignment]) -> int:
    """Exclude those of `assignments` that are done, so that others do them; return how many.

    Call within a transaction that has locked the person; all `assignments` are theirs.
    """
    finished = assignments.filter(state=AssignmentState.DONE)
    lock_tasks_of(finished)
    done = defaultdict(list)
    for pool_id, task_id in finished.values_list("batch__pool", "task"):
        done[pool_id].append(task_id)
    for pool_id in sorted(done):
        free_places(pool_id, done[pool_id])
    return finished.update(state=AssignmentState.REJECTED)


def return_all_work(*, pools: QuerySet[Pool], person: User, now: datetime) -> int:
    """Return all open batches of `person` in `pools`; say how many. Call within a transaction."""
    lock_person(person)
    assigned = lock_unfinished_batches(pools, person)
    return len(return_batches(batches=Batch.objects.filter(pk__in=[batch.pk for batch in assigned]), now=now))


def restore_work(*, assignments: QuerySet[Assignment]) -> list[int]:
    """Include excluded work again if its place is still free; return the assignments that count again.

    Call within a transaction that has locked the person; all `assignments` are theirs.
    """
    set_aside = assignments.filter(state=AssignmentState.REJECTED)
    lock_tasks_of(set_aside)
    free = list(set_aside.filter(task__is_open=True).values_list("pk", "task_id"))
    Task.objects.filter(pk__in=[task for _, task in free]).update(places_taken=F("places_taken") + 1)
    restored = [pk for pk, _ in free]
    Assignment.objects.filter(pk__in=restored).update(state=AssignmentState.DONE)
    return restored


def change_replication(*, pool: Pool, replication: int) -> int:
    """Change the number of people per task; return how many tasks keep more places than that, as people took them.

    Call within a transaction that keeps others from adding tasks.
    """
    Pool.objects.filter(pk=pool.pk).update(replication=replication)
    tasks = Task.objects.filter(pool=pool.pk)
    # All are locked: a batch that ends right now still trims its tasks to the replication before.
    lock_tasks(tasks)
    tasks.exclude(places=replication).update(places=Greatest(F("places_taken"), replication))
    return tasks.filter(places__gt=replication).count()


SILENT_AFTER = timedelta(minutes=5)
"""(ours) Sweeps come every half minute; a busy worker may delay some of them."""


def record_sweep(*, now: datetime) -> None:
    Sweep.objects.update_or_create(pk=1, defaults={"at": now})


def sweeps_silent_since(*, now: datetime) -> datetime | None:
    """Return when the last sweep was, if that is too long ago; None if all is well, or there never was one."""
    last = Sweep.objects.values_list("at", flat=True).first()
    return last if last is not None and now - last > SILENT_AFTER else None
