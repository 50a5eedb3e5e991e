"""Practice: examples with answers and reasons, and what people answered before they got work."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.images.models import Image
from core.languages.models import Language
from core.people.models import Project, TextTranslation


class PracticeKind(models.TextChoices):
    RATING = "rating", _("Rating")
    WRITING = "writing", _("Writing")
    COMPARING = "comparing", _("Comparing")


class PracticeSet(models.Model):
    """One version of the examples for one kind of work in a project; never edited, only replaced by the next.

    People who passed version `counts_from` or a later one need not practise again.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="practice_sets")
    kind = models.CharField(max_length=9, choices=PracticeKind.choices)
    version = models.PositiveIntegerField()
    counts_from = models.PositiveIntegerField(help_text="The oldest version whose passes still count.")
    is_required = models.BooleanField(default=True, help_text="Whether nobody gets work before they passed.")
    pass_percent = models.PositiveSmallIntegerField(
        default=80, validators=[MinValueValidator(1), MaxValueValidator(100)], help_text="Of the examples, to pass."
    )
    tries = models.PositiveSmallIntegerField(default=2, validators=[MinValueValidator(1), MaxValueValidator(10)])
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "kind", "version"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "kind", "version"], name="practice_version_once"),
            models.CheckConstraint(condition=Q(kind__in=PracticeKind.values), name="practice_kind_known"),
            models.CheckConstraint(
                condition=Q(pass_percent__gte=1, pass_percent__lte=100, tries__gte=1), name="practice_can_be_passed"
            ),
            models.CheckConstraint(
                condition=Q(counts_from__gte=1, counts_from__lte=F("version")), name="practice_counts_from_known"
            ),
        ]

    def __str__(self) -> str:
        return f"practice of {self.kind} {self.version} of project {self.project_id}"


class PracticeItem(models.Model):
    """An example. What `caption`, `answer` and `mentions` hold depends on the kind.

    ========= ============================== =============================================================
    kind      caption                        answer
    ========= ============================== =============================================================
    rating    what is rated                  a level; `also_right` has others that pass, separated by commas
    writing   a good caption, shown after    empty; `mentions` has a line for each thing that a caption must
                                             mention, its words separated by |
    comparing the better of two captions,    “better”, or “similar” where neither is
              or one that is as good
    ========= ============================== =============================================================
    """

    practice = models.ForeignKey(PracticeSet, on_delete=models.CASCADE, related_name="items")
    position = models.PositiveSmallIntegerField()
    image = models.ForeignKey(Image, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    drawing = models.CharField(
        max_length=20, blank=True, default="", db_default="", help_text="Instead of an image: one that we bring."
    )
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+", help_text="Of the captions.")
    caption = models.TextField()
    other_caption = models.TextField(blank=True, help_text="For comparing: the caption that is not better.")
    answer = models.CharField(max_length=15, blank=True)
    also_right = models.CharField(max_length=60, blank=True)
    mentions = models.TextField(blank=True)
    why = models.TextField(blank=True, help_text="Markdown")

    class Meta:
        ordering: ClassVar[list[str]] = ["practice", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["practice", "position"], name="practice_item_one_per_position"),
            models.CheckConstraint(condition=~Q(caption=""), name="practice_caption_not_empty"),
            models.CheckConstraint(
                condition=Q(image__isnull=False, drawing="") | (Q(image=None) & ~Q(drawing="")),
                name="practice_item_shows_one_image",
            ),
        ]

    def __str__(self) -> str:
        return f"example {self.position} of practice {self.practice_id}"


class PracticeAttempt(models.Model):
    """One try of one person at the examples of one language. `passed` is empty until the last one is answered."""

    practice = models.ForeignKey(PracticeSet, on_delete=models.CASCADE, related_name="attempts")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+", help_text="Of the examples.")
    working_language = models.ForeignKey(
        Language, on_delete=models.PROTECT, related_name="+", help_text="What the person writes in."
    )
    translation = models.ForeignKey(
        TextTranslation, on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="What the person read; empty for the examples as managers wrote them.",
    )  # fmt: skip
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="practice_attempts")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    right = models.PositiveSmallIntegerField(default=0)
    passed = models.BooleanField(null=True, blank=True)
    is_forgiven = models.BooleanField(default=False, help_text="Whether a manager allowed another try instead.")
    message = models.TextField(blank=True, help_text="What the person wrote to the managers, having no tries left.")

    class Meta:
        ordering: ClassVar[list[str]] = ["practice", "person", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["practice", "person", "language"], condition=Q(passed=None), name="practice_one_open_attempt"
            ),
            models.CheckConstraint(
                condition=Q(passed=None, finished_at=None) | Q(passed__isnull=False, finished_at__isnull=False),
                name="practice_end_dated",
            ),
        ]

    def __str__(self) -> str:
        return f"try {self.pk} of {self.person_id} at practice {self.practice_id}"


class PracticeAnswer(models.Model):
    """An answer to one example; never part of anything that counts."""

    attempt = models.ForeignKey(PracticeAttempt, on_delete=models.CASCADE, related_name="answers")
    item = models.ForeignKey(PracticeItem, on_delete=models.CASCADE, related_name="+")
    answer = models.TextField()
    is_right = models.BooleanField()
    answered_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["attempt", "item"], name="practice_answered_once"),
        ]

    def __str__(self) -> str:
        return f"to example {self.item_id} in try {self.attempt_id}"
