"""Captions rated by others: those of a pilot, to decide about it, and a sample of the main round's."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.captions import Caption
from annotation.models.rounds import Rating, Round, RoundBatch
from core.allocation.models import Assignment, Batch, Task


class VerificationTask(models.Model):
    """A caption for several people to rate, none of them its author."""

    task = models.OneToOneField(Task, on_delete=models.CASCADE, primary_key=True, related_name="verification_task")
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="verification_tasks")
    caption = models.ForeignKey(Caption, on_delete=models.PROTECT, related_name="verification_tasks")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["round", "caption"], name="verification_task_once_per_caption"),
        ]

    def __str__(self) -> str:
        return f"caption {self.caption_id} in round {self.round_id}"


class VerificationBatch(RoundBatch):
    """Captions assigned to one reviewer, submitted together."""

    lease = models.OneToOneField(Batch, on_delete=models.CASCADE, primary_key=True, related_name="verification_batch")
    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="verification_batches")

    def __str__(self) -> str:
        return f"batch {self.pk}"


class Verdict(models.Model):
    """How one person rated one caption. It counts once its assignment is DONE."""

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, primary_key=True, related_name="verdict")
    batch = models.ForeignKey(VerificationBatch, on_delete=models.CASCADE, related_name="verdicts")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField()
    caption = models.ForeignKey(Caption, on_delete=models.PROTECT, related_name="verdicts")
    rating = models.CharField(max_length=15, choices=Rating.choices, blank=True)
    rated_at = models.DateTimeField(null=True, blank=True)
    rating_ms = models.PositiveIntegerField(default=0, help_text="Active time, idle time cut.")

    class Meta:
        ordering: ClassVar[list[str]] = ["batch", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["batch", "position"], name="verdict_one_per_position"),
            models.CheckConstraint(condition=Q(rating__in=["", *Rating.values]), name="verdict_rating_known"),
        ]

    def __str__(self) -> str:
        return f"caption {self.position} of batch {self.batch_id}"
