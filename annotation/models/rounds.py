"""Rounds of a language, from the first pilot to verification, and the guidelines for them."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.allocation.models import LeasedBatch, Pool
from core.images.models import Collection, Image
from core.languages.models import Language
from core.people.models import Project, TextTranslation
from research.inference.models import CaptioningModel


class Rating(models.TextChoices):
    """The five levels, for English captions on screen 1 and for captions in verification."""

    EXCELLENT = "EXCELLENT", _("Excellent")
    GOOD = "GOOD", _("Good")
    MEDIUM = "MEDIUM", _("Medium")
    BAD = "BAD", _("Bad")
    NOT_ENOUGH_INFO = "NOT-ENOUGH-INFO", _("Not enough info")


def level_names() -> dict[str, str]:
    """Return what the buttons say, by the name that stands in guidelines."""
    return {level.name: str(level.label) for level in Rating}


class Guidelines(models.Model):
    """One version of a project's guidelines for reviewers and writers; never edited, only replaced by the next."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    rating = models.TextField(help_text="Markdown")
    writing = models.TextField(help_text="Markdown")
    note = models.TextField(blank=True, help_text="What changed and why, for the annotators.")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "version"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "version"], name="guidelines_version_once"),
        ]

    def __str__(self) -> str:
        return f"guidelines {self.version} of project {self.project_id}"


class GuidelineExample(models.Model):
    """An image with a caption, the level that it deserves and why; part of one version, like its texts."""

    guidelines = models.ForeignKey(Guidelines, on_delete=models.CASCADE, related_name="examples")
    position = models.PositiveSmallIntegerField()
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+", help_text="Of the caption.")
    caption = models.TextField()
    level = models.CharField(max_length=15, choices=Rating.choices)
    why = models.TextField(blank=True, help_text="Markdown")

    class Meta:
        ordering: ClassVar[list[str]] = ["guidelines", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["guidelines", "position"], name="example_one_per_position"),
            models.CheckConstraint(condition=Q(level__in=Rating.values), name="example_level_known"),
            models.CheckConstraint(condition=~Q(caption=""), name="example_caption_not_empty"),
        ]

    def __str__(self) -> str:
        return f"example {self.position} of guidelines {self.guidelines_id}"


class RoundKind(models.TextChoices):
    PILOT = "pilot", _("Pilot")
    MAIN = "main", pgettext_lazy("round", "Main")
    VERIFICATION = "verification", _("Verification")


class RoundState(models.TextChoices):
    """States of a round: PLANNED until opened, CLOSED until decided, SKIPPED, with a reason, if never opened."""

    PLANNED = "planned", _("Not open yet")
    OPEN = "open", _("Open")
    CLOSED = "closed", _("Closed, not decided")
    ACCEPTED = "accepted", _("Accepted")
    REJECTED = "rejected", _("Rejected")
    SKIPPED = "skipped", _("Skipped")


WORKED_ON = (RoundState.OPEN, RoundState.CLOSED, RoundState.ACCEPTED, RoundState.REJECTED)
DECIDED = (RoundState.ACCEPTED, RoundState.REJECTED, RoundState.SKIPPED)


class Round(models.Model):
    """One step of one language of a project. Its pool has the replication and the batch size.

    PILOT and MAIN caption images: each of their tasks is a `CaptionTask`. VERIFICATION rates captions of the round
    `verifies`, a pilot or the main one: each of its tasks is a `VerificationTask`. `annotation.rules.campaign` decides
    which round may follow which. The pool assigns tasks only while the round is OPEN and not paused.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="rounds")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=12, choices=RoundKind.choices, default=RoundKind.MAIN)
    number = models.PositiveSmallIntegerField(default=1, help_text="Among the rounds of its kind in the language.")
    verifies = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="verifications")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="+")
    captioners = models.ManyToManyField(
        CaptioningModel, blank=True, related_name="+", help_text="Whose English captions are rated."
    )
    pool = models.OneToOneField(Pool, on_delete=models.PROTECT, related_name="round")
    guidelines = models.ForeignKey(
        Guidelines, on_delete=models.PROTECT, related_name="+", help_text="Shown with new batches."
    )
    state = models.CharField(max_length=8, choices=RoundState.choices, default=RoundState.OPEN)
    sample_size = models.PositiveIntegerField(
        null=True, blank=True, help_text="How many images are drawn by the seed; empty for all."
    )
    needs_qualification = models.BooleanField(
        default=False, help_text="Whether only annotators whom a manager qualified in the language get batches."
    )
    seed = models.BigIntegerField(help_text="For the sample, the order of the images and the choice among models.")
    awaits_tasks = models.BooleanField(
        default=False, help_text="Whether background work still has to look for images without a task."
    )
    filled_at = models.DateTimeField(null=True, blank=True, help_text="When that work last ended.")
    source = models.TextField(blank=True, help_text="For captions from a file: its source and licence.")
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    reason = models.TextField(blank=True, help_text="Why the round was accepted, rejected or skipped.")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "language", "kind", "number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "language", "kind", "number"], name="round_once"),
            models.CheckConstraint(condition=Q(state__in=RoundState.values), name="round_state_known"),
            models.CheckConstraint(
                condition=Q(kind="verification", verifies__isnull=False)
                | (~Q(kind="verification") & Q(verifies__isnull=True)),
                name="round_verifies_another",
            ),
            models.UniqueConstraint(fields=["verifies"], condition=~Q(state="skipped"), name="round_verified_once"),
            models.CheckConstraint(
                condition=~Q(state__in=DECIDED) | Q(decided_at__isnull=False), name="round_decision_dated"
            ),
            models.CheckConstraint(condition=~Q(state="skipped") | ~Q(reason=""), name="round_skipped_for_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number}, {self.language_id}, of project {self.project_id}"

    @property
    def replication(self) -> int:
        return self.pool.replication

    @property
    def title(self) -> str:
        """Return the name that pages use."""
        if self.verifies is not None and self.verifies.kind == RoundKind.PILOT:
            return str(_("Rating of pilot %(number)d") % {"number": self.verifies.number})
        if self.kind == RoundKind.PILOT:
            return str(_("Pilot %(number)d") % {"number": self.number})
        # `get_kind_display` takes five times as long, and an overview asks for hundreds.
        return str(RoundKind(self.kind).label)


class RoundBatch(LeasedBatch):
    """A batch of a round, of captions to write or to rate. Submitted as a whole."""

    round: models.ForeignKey[Any, Round]
    guidelines = models.ForeignKey(Guidelines, on_delete=models.PROTECT, related_name="+")
    guidelines_language = models.CharField(
        max_length=35, blank=True, help_text="What they were shown in when it was taken; empty for the original."
    )
    rating_translation = models.ForeignKey(
        TextTranslation, on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="What was shown of them for rating; empty for the original.",
    )  # fmt: skip
    submitted_at = models.DateTimeField(null=True, blank=True)

    shown_above = ("round__project", "round__language", "round__verifies", "guidelines")
    left_out = ("guidelines__rating", "guidelines__writing", "round__project__description")

    class Meta:
        abstract = True


class Tally(models.Model):
    """What one person did in one round, kept with every answer so that no page counts; see `services.tallies`.

    In a verification round, `captions` counts those that were rated. Times are active milliseconds, without idle time.
    Only answers that count are in it, except in `late`.
    """

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="tallies")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    batches = models.PositiveIntegerField(default=0)
    captions = models.PositiveIntegerField(default=0)
    late = models.PositiveIntegerField(default=0)
    rating_ms = models.PositiveBigIntegerField(default=0)
    writing_ms = models.PositiveBigIntegerField(default=0)
    words = models.PositiveBigIntegerField(default=0)
    characters = models.PositiveBigIntegerField(default=0)
    ratings = models.JSONField(default=dict, help_text="How many of each level were given.")
    warnings = models.JSONField(default=dict, help_text="How many of each soft check were overridden.")
    lengths = models.JSONField(default=dict, help_text="Captions by characters, in steps of ten: {“40”: 7} is 40–49.")
    days = models.JSONField(default=dict, help_text="Captions by day in UTC: {“2026-11-21”: 15}.")
    last_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveBigIntegerField(
        default=0, help_text="Raised with every change, so that their sum changes too."
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["round", "person"], name="tally_once_per_person_and_round"),
        ]

    def __str__(self) -> str:
        return f"of {self.person_id} in round {self.round_id}"


class RoundFigures(models.Model):
    """Figures that take too long to compute in a page, such as agreement; computed in the background.

    They need computing if `is_stale`, or if the tallies' revisions no longer add up to `revision`. Until `lease_until`
    somebody is computing them; if that is over, the computation failed.
    """

    round = models.OneToOneField(Round, on_delete=models.CASCADE, primary_key=True, related_name="figures")
    is_stale = models.BooleanField(default=True)
    wanted = models.PositiveIntegerField(default=0, help_text="Places of all tasks.")
    tasks = models.PositiveIntegerField(default=0)
    figures = models.JSONField(default=dict)
    revision = models.PositiveBigIntegerField(
        default=0, help_text="The sum of the tallies' revisions when it was computed."
    )
    computed_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"of round {self.round_id}"
