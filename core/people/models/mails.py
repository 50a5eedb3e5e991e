"""E-mails that are sent once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django.db import models
from django.db.models import Q

from core.jobs.models import Due


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
