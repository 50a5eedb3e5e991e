"""Consent: texts in versions, their translations, and who agreed."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.people.models.accounts import User
from core.people.models.projects import Project, Role


class OnWithdrawal(models.TextChoices):
    KEEP = "keep", _("Keep earlier answers under a pseudonym")
    REMOVE = "remove", _("Stop counting earlier answers, and leave them out of later releases")
    CHOOSE = "choose", _("Let each person choose")


class ConsentText(models.Model):
    """A version of what people agree to before they work in a project; never edited, only replaced by the next."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.PositiveIntegerField()
    body = models.TextField(help_text="Markdown")
    licence = models.CharField(max_length=200, blank=True, default="", help_text="Stands for {LICENCE} in the text.")
    contact = models.CharField(max_length=200, blank=True, default="", help_text="Stands for {CONTACT} in the text.")
    on_withdrawal = models.CharField(
        max_length=6,
        choices=OnWithdrawal.choices,
        default=OnWithdrawal.CHOOSE,
        help_text="What happens to answers when somebody withdraws; shown beside the text.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "version"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "version"], name="consent_text_version_once"),
            models.CheckConstraint(condition=Q(version__gte=1), name="consent_text_version_from_one"),
        ]

    def __str__(self) -> str:
        return f"project {self.project_id}, version {self.version}"

    @property
    def values(self) -> dict[str, str]:
        """What its placeholders stand for, in any language."""
        return {"LICENCE": self.licence, "CONTACT": self.contact}


class TextKind(models.TextChoices):
    CONSENT = "consent", _("Consent")
    RATING = "rating", _("Rating")
    WRITING = "writing", _("Writing")
    INSTRUCTIONS = "instructions", _("Instructions")
    PRACTICE_RATING = "practice-rating", _("Practice: rating")
    PRACTICE_WRITING = "practice-writing", _("Practice: writing")
    PRACTICE_COMPARING = "practice-comparing", _("Practice: comparing")
    INVITATION = "invitation", _("Invitation")
    REMINDER = "reminder", _("Invitation, sent again")
    WORK = "work", _("There is work for you again")
    FEEDBACK = "feedback", _("You have feedback from a manager")
    REWRITE = "rewrite", _("You have captions to rewrite")
    REPLY = "reply", _("A manager replied to you")
    DEADLINE = "deadline", _("A batch of yours expires within a day")


EMAIL_KINDS = (
    TextKind.INVITATION,
    TextKind.REMINDER,
    TextKind.WORK,
    TextKind.FEEDBACK,
    TextKind.REWRITE,
    TextKind.REPLY,
    TextKind.DEADLINE,
)


class TextTranslation(models.Model):
    """A translation of one version of a project's text: a draft, or published, and then never edited."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="text_translations")
    kind = models.CharField(max_length=20, choices=TextKind.choices)
    version = models.PositiveIntegerField(help_text="Of the text that is translated.")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    revision = models.PositiveIntegerField()
    body = models.TextField(help_text="Markdown")
    drafted_by = models.CharField(max_length=200, blank=True, help_text="The translator that drafted it, if any.")
    saved_at = models.DateTimeField()
    saved_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    reviewed_by = models.CharField(max_length=100, blank=True, default="", help_text="Who read it without an account.")
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "kind", "version", "language", "revision"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["project", "kind", "version", "language", "revision"], name="text_translation_revision_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=TextKind.values), name="text_translation_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.version} of project {self.project_id} in {self.language_id}"

    @property
    def reviewer(self) -> str:
        """The name of who published it; empty where a machine translated it and nobody has read it."""
        return self.reviewed_by or (self.saved_by.username if self.saved_by else "")


class Consent(models.Model):
    """A person's agreement to a version. A withdrawn one stays on record; agreeing again is a new row.

    A text with parts for some roles is agreed to once for each role, as each reads another text.
    """

    text = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="consents")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="consents")
    role = models.CharField(
        max_length=12,
        choices=Role.choices,
        blank=True,
        default="",
        db_default="",
        help_text="As what they agreed; empty for all roles, where the text has no parts for some.",
    )
    given_at = models.DateTimeField()
    translation = models.ForeignKey(
        TextTranslation, on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="What the person read; empty for the original.",
    )  # fmt: skip
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    answers_kept = models.BooleanField(
        null=True, blank=True, help_text="If withdrawn: whether earlier answers stay, under a pseudonym."
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["text", "user", "role"],
                condition=Q(withdrawn_at=None),
                name="consent_once_per_version_and_role",
            ),
            models.CheckConstraint(condition=Q(role__in=["", *Role.values]), name="consent_role_known"),
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | Q(withdrawn_at__gte=F("given_at")),
                name="consent_withdrawn_after_given",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} to text {self.text_id}"
