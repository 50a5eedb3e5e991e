"""Close pools, change their replication, and exclude work or restore it."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from django.db.models import F, QuerySet
from django.db.models.functions import Greatest

from core.allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task
from core.allocation.services.lifecycle import end_lease, free_places, return_batches
from core.allocation.services.locks import lock_pool, lock_tasks, lock_tasks_of, lock_unfinished_batches
from core.people.models import User
from core.people.services.members import lock_person


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
