"""Submitted captions, their earlier versions, and decisions that make them count or not."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotation.models.rounds import Guidelines, Rating, Round
from annotation.models.work import CaptionItem
from core.images.models import Image, is_left_out
from core.languages.models import Language
from core.people.models import Project


class CaptionState(models.TextChoices):
    """Whether a caption counts, and if not, why not. RETURNED until its author has rewritten it."""

    COUNTED = "counted", _("Counted")
    LATE = "late", _("Late")
    RETURNED = "returned", _("Returned for correction")
    EXCLUDED = "excluded", _("Excluded by a manager")
    WITHDRAWN = "withdrawn", _("Consent withdrawn")


class CaptionQuerySet(models.QuerySet["Caption"]):
    def counted(self) -> CaptionQuerySet:
        return self.filter(state=CaptionState.COUNTED)

    def in_results(self) -> CaptionQuerySet:
        """Return those that figures are computed from: of images that are not left out of results."""
        return self.counted().filter(~is_left_out(collection="round__collection"))


class Caption(models.Model):
    """A caption as submitted: as typed and in NFC, with the warnings that its author overrode.

    A caption from a file has no item and no author; `position` keeps the order of the file.
    """

    item = models.OneToOneField(CaptionItem, on_delete=models.PROTECT, null=True, blank=True, related_name="caption")
    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="captions")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="captions")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="captions"
    )
    guidelines = models.ForeignKey(Guidelines, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField(default=0, help_text="In the file that it came from, from 1; else 0.")
    text = models.TextField(help_text="In NFC, trimmed; of a file, letter for letter.")
    text_as_typed = models.TextField()
    warnings = models.JSONField(default=list, help_text="Codes of the soft checks that the writer saw and overrode.")
    state = models.CharField(max_length=9, choices=CaptionState.choices, default=CaptionState.COUNTED)
    submitted_at = models.DateTimeField()

    objects = CaptionQuerySet.as_manager()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["round", "image", "author"], name="caption_once_per_author"),
            models.UniqueConstraint(
                fields=["round", "image", "position"], condition=Q(position__gt=0), name="caption_once_per_position"
            ),
            models.CheckConstraint(
                condition=Q(item__isnull=False, author__isnull=False, position=0)
                | Q(item__isnull=True, author__isnull=True, position__gt=0),
                name="caption_has_an_author_or_a_file",
            ),
            models.CheckConstraint(condition=~Q(text=""), name="caption_not_empty"),
            models.CheckConstraint(condition=Q(state__in=CaptionState.values), name="caption_state_known"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["round", "image"], name="caption_by_round_and_image"),
            models.Index(fields=["round", "author", "submitted_at"], name="caption_by_round_and_author"),
        ]

    def __str__(self) -> str:
        return f"caption of image {self.image_id} in round {self.round_id}"


class DetailDecision(models.Model):
    """A manager's decision about a caption in which something private was found; about no later text of it."""

    caption = models.OneToOneField(Caption, on_delete=models.CASCADE, related_name="detail_decision")
    is_left_out = models.BooleanField(help_text="Whether the caption no longer counts for it, or is left as it is.")
    text_sha256 = models.CharField(max_length=64, help_text="Of the text that was decided about.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=~Q(text_sha256=""), name="detail_decision_about_a_text"),
        ]

    def __str__(self) -> str:
        return f"caption {self.caption_id}"


class CorrectionRequest(models.Model):
    """A manager's return of a caption with a note, and its earlier text; answered when it is rewritten."""

    caption = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="corrections")
    note = models.TextField(help_text="What the author is asked to change.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    text_before = models.TextField()
    text_before_as_typed = models.TextField()
    warnings_before = models.JSONField(default=list)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["caption", "at"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["caption"], condition=Q(answered_at__isnull=True), name="correction_once_at_a_time"
            ),
            models.CheckConstraint(condition=~Q(note=""), name="correction_with_a_note"),
        ]

    def __str__(self) -> str:
        return f"caption {self.caption_id}"


class SpotCheck(models.Model):
    """A manager's opinion of a rating and a caption."""

    caption = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="spot_checks")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    is_rating_right = models.BooleanField(
        null=True, help_text="Whether the author rated the English caption correctly."
    )
    level = models.CharField(max_length=15, blank=True, help_text="The manager's own level for the caption.")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["caption", "by"], name="spot_check_once_per_manager"),
        ]

    def __str__(self) -> str:
        return f"caption {self.caption_id} by {self.by_id}"

    @property
    def level_label(self) -> str:
        return str(Rating(self.level).label) if self.level else ""


class Feedback(models.Model):
    """A manager's message to an annotator, about one caption or in general; acknowledged before the next batch."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="feedback")
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="feedback")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="feedback")
    caption = models.ForeignKey(Caption, on_delete=models.CASCADE, null=True, blank=True, related_name="feedback")
    text = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["at", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=~Q(text=""), name="feedback_not_empty"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["person", "project"], condition=Q(acknowledged_at__isnull=True), name="feedback_to_acknowledge"
            ),
        ]

    def __str__(self) -> str:
        return f"to {self.person_id} on round {self.round_id}"


class AnnotatorState(models.TextChoices):
    QUALIFIED = "qualified", _("Qualified")
    PAUSED = "paused", _("Paused")


class AnnotatorStatus(models.Model):
    """A manager's decision about a person in one language of a project. Without a row, nothing was decided."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="statuses")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=9, choices=AnnotatorState.choices)
    was_qualified = models.BooleanField(default=False, help_text="Whether the person was qualified before the pause.")
    reason = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "person", "language"], name="annotator_status_once"),
            models.CheckConstraint(condition=Q(state__in=AnnotatorState.values), name="annotator_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} {self.state} in {self.language_id}"


class Exclusion(models.Model):
    """An exclusion: what a person wrote in one language of a project does not count, until it is undone."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="exclusions")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    captions = models.PositiveIntegerField(default=0, help_text="How many no longer count because of it.")
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["-at"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["project", "person", "language"],
                condition=Q(undone_at__isnull=True),
                name="exclusion_once_per_language",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="exclusion_for_a_reason"),
            models.CheckConstraint(
                condition=Q(undone_at__isnull=True) | Q(undone_at__gte=F("at")), name="exclusion_undone_afterwards"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} in {self.language_id}"
