"""Rate, then write: batches on their way from screen 1 through screen 2 to submitted."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.rounds import Rating, Round, RoundBatch
from core.allocation.models import Assignment, Batch, Task
from core.images.models import Image
from core.people.models import TextTranslation
from research.inference.models import ModelCaption


class CaptionTask(models.Model):
    """An image to be captioned in a round, and the English caption that is rated first."""

    task = models.OneToOneField(Task, on_delete=models.CASCADE, primary_key=True, related_name="caption_task")
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="tasks")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    english = models.ForeignKey(ModelCaption, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["round", "image"], name="caption_task_once_per_image"),
        ]

    def __str__(self) -> str:
        return f"image {self.image_id} of round {self.round_id}"


class Stage(models.TextChoices):
    RATE = "rate", _("Rating")
    WRITE = "write", _("Writing")
    SUBMITTED = "submitted", _("Submitted")


class CaptionBatch(RoundBatch):
    """A batch on its way from screen 1 through screen 2 to submitted. There is no way back."""

    lease = models.OneToOneField(Batch, on_delete=models.CASCADE, primary_key=True, related_name="caption_batch")
    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="batches")
    stage = models.CharField(max_length=9, choices=Stage.choices, default=Stage.RATE)
    writing_opened_at = models.DateTimeField(null=True, blank=True)
    writing_translation = models.ForeignKey(
        TextTranslation, on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="What was shown of the guidelines for writing; empty for the original.",
    )  # fmt: skip

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(stage__in=Stage.values), name="caption_batch_stage_known"),
            models.CheckConstraint(
                condition=Q(stage="rate", writing_opened_at__isnull=True)
                | (~Q(stage="rate") & Q(writing_opened_at__isnull=False)),
                name="caption_batch_writing_dated",
            ),
            models.CheckConstraint(
                condition=Q(stage="submitted", submitted_at__isnull=False)
                | (~Q(stage="submitted") & Q(submitted_at__isnull=True)),
                name="caption_batch_submission_dated",
            ),
        ]

    def __str__(self) -> str:
        return f"batch {self.pk} ({self.stage})"


class CaptionItem(models.Model):
    """One image of a batch: how its English caption was rated, and the caption being written.

    `text` is exactly what was typed; `revision` counts its saved states, so that a stale tab is noticed.
    """

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, primary_key=True, related_name="item")
    batch = models.ForeignKey(CaptionBatch, on_delete=models.CASCADE, related_name="items")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField()
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    english = models.ForeignKey(ModelCaption, on_delete=models.PROTECT, related_name="+")
    rating = models.CharField(max_length=15, choices=Rating.choices, blank=True)
    rated_at = models.DateTimeField(null=True, blank=True)
    rating_ms = models.PositiveIntegerField(default=0, help_text="Active time on screen 1, idle time cut.")
    text = models.TextField(blank=True)
    revision = models.PositiveIntegerField(default=0)
    saved_at = models.DateTimeField(null=True, blank=True)
    is_autosaved = models.BooleanField(
        default=False,
        help_text="Whether its text was saved while being typed, and its writer has not confirmed it since.",
    )
    copied_revision = models.PositiveIntegerField(
        null=True, blank=True, help_text="Revision that the writer was warned is almost the English caption."
    )
    writing_ms = models.PositiveIntegerField(default=0, help_text="Active time on screen 2, idle time cut.")
    pasted_characters = models.PositiveIntegerField(
        null=True, blank=True, help_text="From elsewhere; empty where the writer has not agreed that it is noted."
    )
    longest_absence_ms = models.PositiveIntegerField(
        null=True, blank=True, help_text="Longest time out of sight on screen 2; empty as well."
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["batch", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["batch", "position"], name="item_one_per_position"),
            models.CheckConstraint(condition=Q(rating__in=["", *Rating.values]), name="item_rating_known"),
            models.CheckConstraint(
                condition=Q(pasted_characters=None, longest_absence_ms=None)
                | Q(pasted_characters__isnull=False, longest_absence_ms__isnull=False),
                name="item_marks_noted_together",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["person", "image"], name="item_of_person_and_image"),
        ]

    def __str__(self) -> str:
        return f"image {self.position} of batch {self.batch_id}"
