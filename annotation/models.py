"""Rounds, batches and what people rate and write in them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from allocation.models import Assignment, Batch, Pool, Task
from corpus.models import Collection, Image
from inference.models import CaptioningModel, ModelCaption
from languages.models import Language
from people.models import Project


class Guidelines(models.Model):
    """One version of a project's guidance for raters and writers; never edited, only followed by the next."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    rating = models.TextField(help_text="Markdown")
    writing = models.TextField(help_text="Markdown")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "version"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "version"], name="guidelines_version_once"),
        ]

    def __str__(self) -> str:
        return f"guidelines {self.version} of project {self.project_id}"


class RoundKind(models.TextChoices):
    PILOT = "pilot", _("Pilot")
    MAIN = "main", _("Main")


class Round(models.Model):
    """One language of a project, captioned over a collection; how often, and how batches are cut, is its pool's."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="rounds")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=8, choices=RoundKind.choices, default=RoundKind.MAIN)
    number = models.PositiveSmallIntegerField(default=1)
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="+")
    captioners = models.ManyToManyField(
        CaptioningModel, related_name="+", help_text="Whose English captions are rated."
    )
    pool = models.OneToOneField(Pool, on_delete=models.PROTECT, related_name="round")
    seed = models.BigIntegerField(help_text="Of the order of the images and of the choice among several models.")
    awaits_tasks = models.BooleanField(
        default=False, help_text="Whether background work has yet to look for images without a task."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "language", "kind", "number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "language", "kind", "number"], name="round_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number}, {self.language_id}, of project {self.project_id}"

    @property
    def replication(self) -> int:
        return self.pool.replication


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


class CaptionBatch(models.Model):
    """A batch on its way from screen 1 to screen 2 to submitted; the way back does not exist."""

    batch = models.OneToOneField(Batch, on_delete=models.CASCADE, primary_key=True, related_name="caption_batch")
    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="batches")
    guidelines = models.ForeignKey(Guidelines, on_delete=models.PROTECT, related_name="+")
    stage = models.CharField(max_length=9, choices=Stage.choices, default=Stage.RATE)
    writing_opened_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)

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
        return f"batch {self.batch_id} ({self.stage})"


class Rating(models.TextChoices):
    EXCELLENT = "EXCELLENT", _("Excellent")
    GOOD = "GOOD", _("Good")
    MEDIUM = "MEDIUM", _("Medium")
    BAD = "BAD", _("Bad")
    NOT_ENOUGH_INFO = "NOT-ENOUGH-INFO", _("Not enough info")


class Item(models.Model):
    """One image of a batch: how its English caption was rated, and the caption being written.

    `text` is what was typed, letter for letter; `revision` counts its saved states, so that a stale tab is noticed.
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
    writing_ms = models.PositiveIntegerField(default=0, help_text="Active time on screen 2, idle time cut.")

    class Meta:
        ordering: ClassVar[list[str]] = ["batch", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["batch", "position"], name="item_one_per_position"),
            models.CheckConstraint(condition=Q(rating__in=["", *Rating.values]), name="item_rating_known"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["person", "image"], name="item_of_person_and_image"),
        ]

    def __str__(self) -> str:
        return f"image {self.position} of batch {self.batch_id}"


class Caption(models.Model):
    """A caption as handed in: as typed and in NFC, with the warnings its writer overrode. Late ones never count."""

    item = models.OneToOneField(Item, on_delete=models.PROTECT, primary_key=True, related_name="caption")
    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="captions")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="captions")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="captions")
    guidelines = models.ForeignKey(Guidelines, on_delete=models.PROTECT, related_name="+")
    text = models.TextField(help_text="In NFC, trimmed.")
    text_as_typed = models.TextField()
    warnings = models.JSONField(default=list, help_text="Codes of the soft checks that the writer saw and overrode.")
    is_late = models.BooleanField(default=False)
    submitted_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["round", "image", "author"], name="caption_once_per_author"),
            models.CheckConstraint(condition=~Q(text=""), name="caption_not_empty"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["round", "image"], name="caption_by_round_and_image"),
        ]

    def __str__(self) -> str:
        return f"caption of image {self.image_id} in round {self.round_id}"
