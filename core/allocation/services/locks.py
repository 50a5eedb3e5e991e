"""Lock people, pools, batches and tasks: always in this order, and several of one kind by primary key.

Two steps that lock in different orders could deadlock. So only this module of the app locks rows, which
`tests/allocation/test_locks.py` checks. `FreeTasks` and `lock_if_free` skip rows that others have locked, and
never wait. docs/decisions/0039-one-order-of-locks.md has the order for all apps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TypeVar
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Q, QuerySet

from core.allocation.models import Assignment, Batch, BatchState, LeasedBatch, Pool, Task, TaskQuerySet
from core.compiled_query import CompiledQuery
from core.people.models import User
from core.people.services.members import lock_person

BatchT = TypeVar("BatchT", bound=LeasedBatch)


def lock_people(people: Iterable[User]) -> None:
    for person in sorted(people, key=lambda one: one.pk):
        lock_person(person)


def lock_pool(pool: Pool) -> None:
    """Lock a pool against every step that assigns tasks of it."""
    Pool.objects.select_for_update().get(pk=pool.pk)


def lock_pools(pools: QuerySet[Pool]) -> list[int]:
    """Lock pools against every step that assigns tasks of them; returns their primary keys."""
    return list(pools.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))


def lock_settings_of(pools: QuerySet[Pool]) -> None:
    """Lock pools against others who change their settings. Tasks of them are still assigned."""
    list(pools.order_by("pk").select_for_update(no_key=True, of=("self",)).values_list("pk"))


def lock_pool_shared(pool: Pool) -> None:
    """Lock a pool against being closed until the transaction ends, and read it again.

    The lock is shared: several transactions can have it, and a foreign key to the pool takes the same one.
    """
    if connection.features.has_select_for_update:
        table = connection.ops.quote_name(Pool._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR KEY SHARE", [pool.pk])  # noqa: S608
    pool.refresh_from_db(fields=["replication", "batch_size", "lease_s", "is_open"])


def lock_batch(batch_id: UUID) -> Batch:
    return Batch.objects.select_for_update(no_key=True).get(pk=batch_id)


def lock_batches(batches: QuerySet[Batch]) -> list[Batch]:
    return list(batches.order_by("pk").select_for_update(no_key=True, of=("self",)))


def lock_if_free(batches: QuerySet[Batch], pk: UUID) -> Batch | None:
    """Lock one of `batches`, unless somebody else has locked it."""
    return batches.select_for_update(no_key=True, skip_locked=True).filter(pk=pk).first()


def lock_with_lease(batches: QuerySet[BatchT]) -> QuerySet[BatchT]:
    """Lock an app's rows of batches as they are read, each after its lease, which others lock by itself."""
    return batches.select_for_update(no_key=True, of=("lease", "self"))


def lock_open_batches(pool: Pool, person: User) -> list[Batch]:
    open_batches = Batch.objects.filter(pool=pool, person=person, state=BatchState.OPEN)
    return list(open_batches.select_for_update(no_key=True))


def lock_unfinished_batches(pools: QuerySet[Pool], person: User) -> list[Batch]:
    """Lock all batches that `person` could still submit, even late; returns the open ones."""
    unfinished = Batch.objects.filter(pool__in=pools, person=person).exclude(state=BatchState.DONE)
    return [batch for batch in lock_batches(unfinished) if batch.state == BatchState.OPEN]


def lock_tasks(tasks: QuerySet[Task]) -> None:
    in_order = tasks.order_by("pk").select_for_update(no_key=True).values("pk")
    with suppress(EmptyResultSet), connection.cursor() as cursor:
        sql, values = in_order.query.get_compiler(connection=connection).as_sql()
        # Counted, not read: a pool can have a hundred thousand of them.
        cursor.execute(f"SELECT COUNT(*) FROM ({sql}) locked", values)  # noqa: S608


def lock_tasks_of(assignments: QuerySet[Assignment]) -> None:
    """Lock at once all tasks that a step frees or takes: in two rounds, each in order, two steps could deadlock."""
    lock_tasks(Task.objects.filter(pk__in=assignments.values("task")))


class FreeTasks:
    """Open tasks that may come to a person, except those that `without`, called with person and project, selects.

    Taking a batch asks for them twice, over the work of all kinds that the person has: saves 10 to 16 ms.
    """

    def __init__(self, without: Callable[[User, int], Q | None] = lambda _person, _project: None) -> None:
        self._without = without
        types: dict[str, type] = {"person": int, "pool": int, "project": int, "start": int}
        self.from_start = CompiledQuery(partial(self._locked, "shuffle_key__gte"), **types)
        self.before_start = CompiledQuery(partial(self._locked, "shuffle_key__lt"), **types)

    def open_for(self, person: User, pool: Pool, project: int) -> TaskQuerySet:
        return Task.objects.open_for(person, pool).without(self._without(person, project))

    def lock(self, person: User, pool: Pool, project: int, *, start: int) -> list[Task]:
        """Lock up to a batch of those that nobody else has locked: from `start` in the pool's order, round once."""
        about = {"person": person.pk, "pool": pool.pk, "project": project, "start": start}
        tasks = self.from_start.rows(**about, limit=pool.batch_size)
        return tasks + self.before_start.rows(**about, limit=pool.batch_size - len(tasks))

    def _locked(self, part: str, person: User, pool: Pool, project: int, start: int) -> TaskQuerySet:
        in_order = self.open_for(person, pool, project).filter(**{part: start}).order_by("shuffle_key")
        return in_order.select_for_update(skip_locked=True, no_key=True, of=("self",))
