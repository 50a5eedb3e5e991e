"""Exact replication.

A `Task` is one thing to work on (an image in a language, a caption to verify, a pair to compare); the app that knows
what it is adds a row of its own with a one-to-one link. `places` is how many different people have to answer,
`places_taken` how many answered or are working on it; a check constraint keeps the second from passing the first.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.people.models import User


class Pool(models.Model):
    """Tasks that are assigned together, and how."""

    replication = models.PositiveSmallIntegerField(default=2, help_text="How many different people do each task.")
    batch_size = models.PositiveSmallIntegerField(default=15)
    lease_s = models.PositiveIntegerField(default=24 * 3600, help_text="Length of a lease, in seconds.")
    is_open = models.BooleanField(default=True, help_text="Whether new batches are assigned.")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(replication__gte=1), name="pool_replication_positive"),
            models.CheckConstraint(condition=Q(batch_size__gte=1), name="pool_batch_not_empty"),
            models.CheckConstraint(condition=Q(lease_s__gte=1), name="pool_hold_positive"),
        ]

    def __str__(self) -> str:
        return f"pool {self.pk}"


class TaskQuerySet(models.QuerySet["Task"]):
    def open_for(self, person: User, pool: Pool | models.OuterRef) -> TaskQuerySet:
        """Select tasks with a free place that `person` was never assigned."""
        had = Assignment.objects.filter(task=models.OuterRef("pk"), person=person)
        # As a value: SQLite looks up `is_open = 1` in the index, but not the bare `is_open` that True becomes.
        return self.filter(~models.Exists(had), pool=pool, is_open=models.Value(True))

    def without(self, condition: Q | None) -> TaskQuerySet:
        """Select the tasks for which `condition` does not hold."""
        if not condition:
            return self
        # Not by `exclude`: PostgreSQL expects half of the rows to be left after each of the conditions in it, so with
        # nine of them it would read and sort a whole pool rather than follow its order. One CASE counts once.
        return self.filter(models.Case(models.When(condition, then=models.Value(False)), default=models.Value(True)))


class Task(models.Model):
    """`places` is the pool's replication, or more if that was lowered while more people had places."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="tasks", db_index=False)
    shuffle_key = models.PositiveIntegerField(help_text="Random order in which tasks are assigned.")
    places = models.PositiveSmallIntegerField()
    places_taken = models.PositiveSmallIntegerField(default=0)
    # In the database, so that the index depends on it alone: PostgreSQL writes no index entry for a changed row if no
    # column of an index changes.
    is_open = models.GeneratedField(
        expression=Q(places_taken__lt=F("places")),  # type: ignore[arg-type] # the stubs know no conditions
        output_field=models.BooleanField(),
        db_persist=True,
    )

    objects = TaskQuerySet.as_manager()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(places_taken__lte=F("places")), name="task_not_oversold"),
            models.CheckConstraint(condition=Q(places__gte=1), name="task_has_a_place"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            # Open tasks are side by side in it, so taking a batch does not slow down as finished work piles up. It also
            # finds the tasks of a pool: each index more makes changing the replication a quarter slower.
            models.Index(fields=["pool", "is_open", "shuffle_key"], name="task_open_in_order"),
        ]

    def __str__(self) -> str:
        return f"task {self.pk} ({self.places_taken} of {self.places})"


class BatchState(models.TextChoices):
    OPEN = "open", _("Open")
    DONE = "done", _("Submitted")
    RETURNED = "returned", _("Returned")
    EXPIRED = "expired", _("Expired")


class Batch(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="batches")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="batches")
    state = models.CharField(max_length=8, choices=BatchState.choices, default=BatchState.OPEN)
    taken_at = models.DateTimeField()
    lease_s = models.PositiveIntegerField(help_text="Seconds of a full lease, copied from the pool.")
    deadline = models.DateTimeField(help_text="When the lease ends.")
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["pool", "person"], condition=Q(state="open"), name="batch_one_open_per_person_and_pool"
            ),
            models.CheckConstraint(condition=Q(state__in=BatchState.values), name="batch_state_known"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["deadline"], condition=Q(state="open"), name="batch_open_by_due"),
            models.Index(fields=["pool", "person"], condition=Q(state="expired"), name="batch_expired"),
            models.Index(fields=["person", "-taken_at"], name="batch_of_person"),
        ]

    def __str__(self) -> str:
        return f"batch {self.pk} ({self.state})"

    def is_open_at(self, now: datetime) -> bool:
        """Whether work on it still counts."""
        return self.state == BatchState.OPEN and now < self.deadline

    def is_late_at(self, now: datetime) -> bool:
        """Whether its deadline has passed; a sweep may not have noticed yet."""
        return self.state == BatchState.EXPIRED or (self.state == BatchState.OPEN and self.deadline <= now)


class LeasedBatch(models.Model):
    """The app's own row of a batch. Each kind of batch has a model."""

    lease: models.OneToOneField[Any, Batch]
    shown_above: ClassVar[tuple[str, ...]] = ()
    """Paths of the rows that the head of every page needs."""
    left_out: ClassVar[tuple[str, ...]] = ()
    """Long columns of those rows, which no such page shows."""

    class Meta:
        abstract = True

    @classmethod
    def with_heads(cls) -> models.QuerySet[Self]:
        """Select all batches of this kind, with what the head of every page needs."""
        return cls._default_manager.select_related("lease", *cls.shown_above).defer(*cls.left_out)


class AssignmentState(models.TextChoices):
    ASSIGNED = "assigned", _("Assigned")
    DONE = "done", _("Done")
    RETURNED = "returned", _("Returned")
    EXPIRED = "expired", _("Expired")
    LATE = "late", _("Late, not counted")
    REASSIGNED = "reassigned", _("Reassigned")
    REJECTED = "rejected", _("Excluded by a manager")
    REPORTED = "reported", _("Reported and skipped")


NOT_SHOWN = (AssignmentState.REASSIGNED, AssignmentState.REPORTED)
"""Their tasks are no longer part of the batch, for good."""


class Assignment(models.Model):
    """One task of one person, once and for all: a task is never assigned to the same person again.

    ASSIGNED and DONE each take one of the task's places; the other states take none.
    """

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="assignments")
    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="assignments")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField(help_text="From 1, in the order shown.")
    state = models.CharField(max_length=10, choices=AssignmentState.choices, default=AssignmentState.ASSIGNED)

    class Meta:
        ordering: ClassVar[list[str]] = ["batch", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["task", "person"], name="assignment_once_per_person"),
            models.UniqueConstraint(fields=["batch", "position"], name="assignment_one_per_position"),
            models.CheckConstraint(condition=Q(state__in=AssignmentState.values), name="assignment_state_known"),
        ]

    def __str__(self) -> str:
        return f"task {self.task_id} of batch {self.batch_id} ({self.state})"


class Sweep(models.Model):
    """When leases were last checked. One row."""

    at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.at)
