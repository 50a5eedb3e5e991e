"""E-mails about what is new, who wants which of them, and what somebody has dealt with."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.people.models import UNFINISHED_MAILS, MailState, OutgoingMail, mail_constraints
from office.dashboard.rules.emails import Digest


class NoticeKind(models.TextChoices):
    """What an e-mail is about. All but the digest are for those who annotate or rate."""

    WORK = "work", _("There is work for you again")
    FEEDBACK = "feedback", _("You have feedback from a manager")
    REWRITE = "rewrite", _("You have captions to rewrite")
    REPLY = "reply", _("A manager replied to you")
    DEADLINE = "deadline", _("A batch of yours expires within a day")
    DIGEST = "digest", _("What needs you")


class EmailChoices(models.Model):
    """Which e-mails somebody wants. Without a row, the default of each column."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="email_choices"
    )
    work = models.BooleanField(NoticeKind.WORK.label, default=True)
    feedback = models.BooleanField(NoticeKind.FEEDBACK.label, default=True)
    rewrite = models.BooleanField(NoticeKind.REWRITE.label, default=True)
    reply = models.BooleanField(NoticeKind.REPLY.label, default=True, db_default=True)
    deadline = models.BooleanField(NoticeKind.DEADLINE.label, default=True)
    digest = models.CharField(NoticeKind.DIGEST.label, max_length=6, choices=Digest.choices, default=Digest.WEEKLY)
    zone = models.CharField(max_length=64, blank=True, help_text="Time zone, as the browser has it; empty for UTC.")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(digest__in=Digest.values), name="email_choices_digest_known"),
        ]

    def __str__(self) -> str:
        return f"choices of {self.person_id}"

    def wants(self, kind: NoticeKind) -> bool:
        return self.digest != Digest.OFF if kind == NoticeKind.DIGEST else bool(getattr(self, kind.value))


NOT_NEEDED = "dropped"
NOTICE_STATES = [*MailState.values, NOT_NEEDED]


class Notice(OutgoingMail):
    """One e-mail. `about` names its occasion, so that nobody gets two about the same one."""

    NOT_NEEDED: ClassVar[str] = NOT_NEEDED

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=8, choices=NoticeKind.choices)
    about = models.CharField(max_length=80, help_text="A day, a week, or a batch and its deadline.")
    queued_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["due_at"], condition=Q(state__in=UNFINISHED_MAILS), name="notice_due"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["person", "kind", "about"], name="notice_once"),
            models.CheckConstraint(condition=Q(kind__in=NoticeKind.values), name="notice_kind_known"),
            *mail_constraints("notice", NOTICE_STATES),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.about} for {self.person_id}, {self.state}"


class WorkSeen(models.Model):
    """Whether somebody had work when it was last looked at, to notice when there is some again."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="work_seen"
    )
    has_work = models.BooleanField()

    def __str__(self) -> str:
        return f"{self.person_id}: {self.has_work}"


class DismissedNeed(models.Model):
    """Something that failed, and that somebody took off their list."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="dismissed_needs")
    about = models.CharField(max_length=80, help_text="Such as run:12.")
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["person", "about"], name="need_dismissed_once"),
        ]

    def __str__(self) -> str:
        return f"{self.about} by {self.person_id}"
