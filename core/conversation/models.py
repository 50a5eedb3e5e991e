"""Images that people report while they work, and what they ask their managers."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.conversation.rules import MessageOrigin, ReportReason
from core.images.models import Image
from core.languages.models import Language
from core.people.models import Project


class ReportedState(models.TextChoices):
    REPORTED = "reported", _("Reported")
    PAUSED = "paused", _("Paused")
    RESUMED = "resumed", _("In use")
    WITHDRAWN = "withdrawn", _("Withdrawn")


WAITING = (ReportedState.REPORTED, ReportedState.PAUSED)
"""A manager has yet to decide."""
HELD = (ReportedState.PAUSED, ReportedState.WITHDRAWN)
"""The image comes to nobody in the project."""


class ReportedImage(models.Model):
    """An image that somebody reported in a project, and what managers decided about it.

    Reports that a caption to rate or compare is in another language stand in a row of the language of that work, and
    pause the image there.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reported_images")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    language = models.ForeignKey(
        Language, on_delete=models.PROTECT, null=True, related_name="+", help_text="Empty: the image in all languages."
    )
    state = models.CharField(max_length=9, choices=ReportedState.choices, default=ReportedState.REPORTED)
    reported_at = models.DateTimeField(help_text="When somebody reported it last.")
    decided_at = models.DateTimeField(null=True, blank=True, help_text="When a manager decided last.")
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["project", "image"], condition=Q(language=None), name="reported_image_once"
            ),
            models.UniqueConstraint(
                fields=["project", "image", "language"],
                condition=Q(language__isnull=False),
                name="reported_image_once_per_language",
            ),
            models.CheckConstraint(condition=Q(state__in=ReportedState.values), name="reported_image_state_known"),
        ]

    def __str__(self) -> str:
        return f"image {self.image_id} of project {self.project_id}: {self.state}"

    @property
    def is_waiting(self) -> bool:
        return self.state in WAITING


class ImageReport(models.Model):
    """What one person said is wrong with an image, in one item of their work."""

    reported = models.ForeignKey(ReportedImage, on_delete=models.CASCADE, related_name="reports")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    item = models.CharField(max_length=80, help_text="Kind of work, batch and position.")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=13, choices=ReportReason.choices)
    comment = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["at", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["person", "item"], name="image_report_once_per_item"),
            models.CheckConstraint(condition=Q(reason__in=ReportReason.values), name="image_report_reason_known"),
        ]

    def __str__(self) -> str:
        return f"{self.reason}: {self.reported_id} by {self.person_id}"

    @property
    def place(self) -> tuple[str, UUID, int]:
        """The kind of work, the batch, and the position in it."""
        kind, batch, position = self.item.split(":")
        return kind, UUID(batch), int(position)


class ManagerThread(models.Model):
    """What one person and the managers of a project wrote to each other."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="threads")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    is_open = models.BooleanField(default=True, help_text="Whether a manager has yet to answer.")
    asked_at = models.DateTimeField(help_text="When the person wrote last.")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "person"], name="manager_thread_once"),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} in project {self.project_id}"


class ThreadMessage(models.Model):
    """One message, perhaps about an image or about what a manager said before."""

    thread = models.ForeignKey(ManagerThread, on_delete=models.CASCADE, related_name="messages")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    is_reply = models.BooleanField(default=False, help_text="Whether a manager wrote it.")
    text = models.TextField()
    quote = models.TextField(blank=True, help_text="The feedback that the question answers, or the sentence.")
    origin = models.CharField(max_length=8, choices=MessageOrigin.choices, blank=True, db_default="")
    report = models.OneToOneField(
        ImageReport, on_delete=models.CASCADE, null=True, related_name="message", help_text="Whose comment it is."
    )
    image = models.ForeignKey(Image, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    is_of_screen_1 = models.BooleanField(
        default=False, help_text="Whether it may quote an English caption of the image."
    )
    language = models.ForeignKey(Language, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    at = models.DateTimeField()
    read_at = models.DateTimeField(
        null=True, blank=True, help_text="When the person confirmed that they read this reply."
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["at", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=~Q(text=""), name="thread_message_not_empty"),
            models.CheckConstraint(
                condition=Q(origin__in=["", *MessageOrigin.values]), name="thread_message_origin_known"
            ),
        ]

    def __str__(self) -> str:
        return f"message {self.pk} of thread {self.thread_id}"


class SavedAnswer(models.Model):
    """A reply that managers of a project use again."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="saved_answers")
    title = models.CharField(max_length=80)
    text = models.TextField()

    class Meta:
        ordering: ClassVar[list[str]] = ["title", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "title"], name="saved_answer_title_once"),
            models.CheckConstraint(condition=~Q(text=""), name="saved_answer_not_empty"),
        ]

    def __str__(self) -> str:
        return self.title
