"""Invitations by link, and the e-mails, each sent once, that bring them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext

from core.jobs.models import Due
from core.languages.models import Language
from core.people.models.accounts import User
from core.people.models.projects import Project, Role
from core.people.models.texts import TextTranslation


class MailState(models.TextChoices):
    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


UNFINISHED_MAILS = (MailState.QUEUED, MailState.SENDING)


class OutgoingMail(Due):
    """An e-mail that core/people/services/mails.py sends once. This row decides."""

    NOT_NEEDED: ClassVar[str] = MailState.FAILED
    """The state of one that nobody needs any more when it would be sent."""
    REASON_LENGTH: ClassVar[int] = 300

    state = models.CharField(max_length=7, choices=MailState.choices, default=MailState.QUEUED)
    sent_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=REASON_LENGTH, blank=True, help_text="Why the last attempt failed.")
    text_version = models.PositiveIntegerField(
        null=True, blank=True, help_text="Of the project's text that it was written by; empty for the platform's."
    )
    translation = models.ForeignKey(
        TextTranslation, on_delete=models.SET_NULL, null=True, blank=True, related_name="+",
        help_text="In which of its translations; empty for the original.",
    )  # fmt: skip

    class Meta:
        abstract = True


def mail_constraints(prefix: str, states: Sequence[str] = MailState.values) -> list[models.BaseConstraint]:
    return [
        models.CheckConstraint(condition=Q(state__in=states), name=f"{prefix}_state_known"),
        models.CheckConstraint(
            condition=Q(state="sent", sent_at__isnull=False) | (~Q(state="sent") & Q(sent_at=None)),
            name=f"{prefix}_sent_dated",
        ),
    ]


class Invitation(models.Model):
    """A link that admits up to `places` people, in one role, for some languages."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    token = models.CharField(max_length=43, unique=True)
    role = models.CharField(max_length=12, choices=Role.choices)
    languages = models.ManyToManyField(Language, blank=True, related_name="+")
    email = models.EmailField(blank=True)
    note = models.CharField(max_length=200, blank=True)
    places = models.PositiveIntegerField(default=1)
    places_taken = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(places_taken__lte=F("places")), name="invitation_not_oversold"),
            models.CheckConstraint(condition=Q(places__gte=1), name="invitation_has_a_place"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="invitation_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.role} of project {self.project_id}, {self.places_taken} of {self.places}"


class InvitationUse(models.Model):
    """One place of an invitation, and who used it."""

    invitation = models.ForeignKey(Invitation, on_delete=models.CASCADE, related_name="uses")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["invitation", "user"], name="invitation_used_once_per_person"),
        ]

    def __str__(self) -> str:
        return f"invitation {self.invitation_id} used by {self.user_id}"


class InvitationMail(OutgoingMail):
    """One e-mail with the link of an invitation: the first, or a reminder."""

    invitation = models.ForeignKey(Invitation, on_delete=models.CASCADE, related_name="mails")
    is_reminder = models.BooleanField(default=False)
    site = models.CharField(max_length=300, help_text="Where the link begins, such as https://example.org/.")
    language = models.CharField(max_length=35, blank=True, help_text="In which it is written.")
    asked_at = models.DateTimeField()
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["invitation", "pk"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["due_at"], condition=Q(state__in=UNFINISHED_MAILS), name="invitation_mail_due"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["invitation"], condition=Q(state__in=UNFINISHED_MAILS), name="invitation_mail_one_at_a_time"
            ),
            *mail_constraints("invitation_mail"),
        ]

    def __str__(self) -> str:
        return f"{self.state} mail {self.pk} of invitation {self.invitation_id}"

    @property
    def reason_shown(self) -> str:
        """Return the reason in the language of the page, if it is one of ours and not of a mail server."""
        return gettext(self.reason) if self.reason else ""
