"""The life of a batch. It is the same for captions, for verification and for judging:

take    A person gets a batch of a round or comparison, or the open one again. The lease starts.
save    Every save locks the batch, so that two tabs, a double click and a late request take turns. In the second half
        of the lease it renews the lease in full.
submit  The work counts, or is kept as late if the lease has ended.
return  The places are free for others. What was done stays with the batch.
expire  The same, at the deadline. A sweep does it, and so does taking a batch when nothing else is left.
skip    One task is given up for good, for example as its image is broken; the rest can still be submitted.
resume  An expired or returned batch is open again, with the tasks that are still free.

Each step is one transaction. `BatchKind` has the steps, and an app fills in what differs. `assigning` and `lifecycle`
change places; `locks` has the one order in which rows are locked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from random import Random
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from core.allocation.models import Assignment, Batch, BatchState, LeasedBatch
from core.allocation.services import assigning, lifecycle
from core.allocation.services.errors import BatchReturnedError, LeaseExpiredError
from core.allocation.services.locks import FreeTasks, lock_with_lease
from core.compiled_query import CompiledQuery
from core.people.models import User
from core.people.selectors.qualification import MissingRequirement, NotQualifiedError, check_not_archived


class HasPool(Protocol):
    """A round or a comparison."""

    pool: Any
    project_id: Any


WorkT = TypeVar("WorkT", bound=HasPool)
BatchT = TypeVar("BatchT", bound=LeasedBatch)


class BatchKind(ABC, Generic[BatchT, WorkT]):
    """One kind of batch: its model, who may work on it, and the rows that it adds. `work` is a round or comparison."""

    model: type[BatchT]
    free_tasks: Sequence[FreeTasks]
    """What may come to a person. If nothing is left of one, the next is tried."""

    @abstractmethod
    def work_of(self, batch: BatchT) -> WorkT: ...

    @abstractmethod
    def missing_requirements(self, person: User, work: WorkT) -> list[MissingRequirement]: ...

    @abstractmethod
    def check_still_qualified(self, person: User, work: WorkT) -> None:
        """Ask again after locking: a manager may have been quicker, or the person in another tab.

        Raises NotQualifiedError or PoolClosedError.
        """

    @abstractmethod
    def add_rows(self, work: WorkT, lease: Batch, assignments: list[Assignment], rng: Random) -> None:
        """Make the app's rows of a new batch."""

    def take_batch(self, *, work: WorkT, person: User, now: datetime, rng: Random) -> BatchT | None:
        """Assign a batch of `work`, or return the open one; None if nothing is left for `person`.

        Raises NotQualifiedError, PoolClosedError or PoolBusyError.
        """
        self.check_qualified(person, work)
        self.close_if_done(person, work, now)
        prepare = self.preparing(work, rng)
        about: dict[str, Any] = {"pool": work.pool, "project": work.project_id, "prepare": prepare, "rng": rng}
        for tasks in self.free_tasks_of(work):
            lease = assigning.take_batch(**about, person=person, now=now, tasks=tasks)
            if lease:
                return self.model.with_heads().get(pk=lease.pk)
        return None

    def preparing(self, work: WorkT, rng: Random) -> assigning.Prepare:
        """Make what runs in the transaction that assigns a batch of `work`."""

        def prepare(lease: Batch, assignments: list[Assignment]) -> None:
            check_not_archived(work.project_id)
            self.check_still_qualified(lease.person, work)
            self.add_rows(work, lease, assignments, rng)

        return prepare

    def return_batch(self, *, batch_id: UUID, person: User, now: datetime) -> bool:
        """Free the places of a batch for others. What was done stays with it. False if everything was done already."""
        with transaction.atomic():
            lease = self.locked(batch_id, person).lease
            lifecycle.return_batch(batch=lease, now=now)
        return lease.state == BatchState.RETURNED

    def resume_batch(self, *, batch_id: UUID, person: User, now: datetime) -> Batch:
        """Open an expired or returned batch again, with the tasks that are still free.

        Raises NotQualifiedError, PoolClosedError, NoTasksAvailableError or OpenBatchExistsError.
        """
        batch = self.model.with_heads().get(pk=batch_id, lease__person=person)
        self.check_resumable(batch)
        work = self.work_of(batch)
        self.check_qualified(person, work)
        with transaction.atomic():
            resumed = assigning.resume_batch(
                batch_id=batch_id, person=person, now=now, without=self.held_back(work.project_id)
            )
            check_not_archived(work.project_id)
            self.check_still_qualified(person, work)
        return resumed

    def skip_task(self, batch_id: UUID, person: User, position: int, now: datetime) -> bool:
        """Give up the task at `position` for good, also once the lease has ended; call within a transaction.

        Return False if it was done before: that stays. Repeating it changes nothing. Raises ObjectDoesNotExist.
        """
        batch = self.locked(batch_id, person)
        lifecycle.expire_batch(batch=batch.lease, now=now)
        is_skipped = self.skip_at(batch, position)
        if is_skipped and batch.lease.state != BatchState.RETURNED:
            self.close_if_all_skipped(batch, now)
        return is_skipped

    def locked(self, batch_id: UUID, person: User) -> BatchT:
        """Lock a batch of `person`, and with it everything in it.

        Raises ObjectDoesNotExist of the kind's model: `person` has no such batch.
        """
        return self.own_locked.get(batch=batch_id, person=person.pk)

    @cached_property
    def own_locked(self) -> CompiledQuery[BatchT]:
        """Every save asks it: saves 0.3 ms of captions, 0.7 of judgements."""
        return CompiledQuery(
            lambda batch, person: lock_with_lease(self.to_lock()).filter(pk=batch, lease__person=person),
            batch=UUID,
            person=int,
        )

    def free_tasks_of(self, work: WorkT) -> Sequence[FreeTasks]:
        return self.free_tasks

    def close_if_done(self, person: User, work: WorkT, now: datetime) -> None:
        """Close an open batch in which all is done, where answers count one by one and nothing is submitted."""

    def held_back(self, project_id: int) -> Q | None:
        """Return the condition for tasks that come to nobody now."""
        return None

    def skip_at(self, batch: BatchT, position: int) -> bool:
        """Do it for a locked batch, as `lifecycle.skip_assignment` does."""
        return lifecycle.skip_assignment(batch=batch.lease, assignment=batch.lease.assignments.get(position=position))

    def close_if_all_skipped(self, batch: BatchT, now: datetime) -> None:
        """Close a locked batch of which nothing is left to do, unless it is closed."""

    def check_resumable(self, batch: BatchT) -> None:
        """Raise an error of the app's own if `batch` is past resuming."""

    def to_lock(self) -> QuerySet[BatchT]:
        return self.model.with_heads()

    def check_qualified(self, person: User, work: WorkT) -> None:
        if missing := self.missing_requirements(person, work):
            raise NotQualifiedError(missing)


def check_not_returned(lease: Batch) -> None:
    if lease.state == BatchState.RETURNED:
        raise BatchReturnedError


def check_in_time(lease: Batch, now: datetime) -> None:
    """Raises BatchReturnedError or LeaseExpiredError."""
    check_not_returned(lease)
    if not lease.is_open_at(now):
        raise LeaseExpiredError


def credible_ms(active_ms: int, *, since: datetime, now: datetime, longest: timedelta) -> int:
    """Limit the time that a browser reports to `longest` and to what has passed since `since`.

    So a repeated request adds nothing.
    """
    limit = min(now - since, longest)
    return max(0, min(active_ms, int(limit.total_seconds() * 1000)))
