"""Lock people, pools, batches and tasks, always in this order; tasks by primary key.

docs/decisions/0039-one-order-of-locks.md lists what apps lock besides. Only `assigning._take_free` takes tasks out of
order, and it never waits for one (`SKIP LOCKED`), so there is no deadlock.
"""

from __future__ import annotations

from django.db import connection
from django.db.models import QuerySet

from allocation.models import Assignment, Batch, BatchState, Pool, Task
from people.models import User


def lock_person(person: User) -> None:
    """Make the tabs of one person take turns; the lock leaves foreign keys to the person free."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=person.pk)


def lock_pool_shared(pool: Pool) -> None:
    """Lock a pool against being closed until the transaction ends, and read it again.

    The lock is shared: several transactions can have it, and a foreign key to the pool takes the same one.
    """
    if connection.features.has_select_for_update:
        table = connection.ops.quote_name(Pool._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR KEY SHARE", [pool.pk])  # noqa: S608
    pool.refresh_from_db()


def lock_open_batches(pool: Pool, person: User) -> QuerySet[Batch]:
    return Batch.objects.select_for_update(no_key=True).filter(pool=pool, person=person, state=BatchState.OPEN)


def lock_unfinished_batches(pools: QuerySet[Pool], person: User) -> list[Batch]:
    """Lock all batches that `person` could still submit, even late; returns the open ones."""
    theirs = Batch.objects.filter(pool__in=pools, person=person).exclude(state=BatchState.DONE)
    locked = theirs.order_by("pk").select_for_update(no_key=True, of=("self",))
    return [batch for batch in locked if batch.state == BatchState.OPEN]


def lock_tasks(assignments: QuerySet[Assignment]) -> None:
    """Lock at once all tasks that a step frees or takes: in two rounds, each in order, two steps could deadlock."""
    tasks = Task.objects.filter(pk__in=assignments.values("task")).order_by("pk").select_for_update(no_key=True)
    list(tasks.values_list("pk", flat=True))
