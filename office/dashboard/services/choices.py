"""Change which e-mails somebody gets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.people.models import User
from office.dashboard.models import DismissedNeed, EmailChoices, Notice, NoticeKind, WorkSeen
from office.dashboard.rules.emails import Digest


def choose_emails(*, person: User, chosen: Mapping[str, Any]) -> None:
    EmailChoices.objects.update_or_create(person=person, defaults=dict(chosen))


def stop_emails(*, person: User, kind: NoticeKind) -> None:
    """Send no more e-mails of one kind; doing it twice changes nothing."""
    value = Digest.OFF if kind == NoticeKind.DIGEST else False
    EmailChoices.objects.update_or_create(person=person, defaults={kind.value: value})


def dismiss_need(*, person: User, about: str, now: datetime) -> None:
    DismissedNeed.objects.get_or_create(person=person, about=about, defaults={"at": now})


def forget(*, person: User, now: datetime) -> None:
    """Delete what is kept about the e-mails of somebody who deletes their account."""
    for model in (Notice, DismissedNeed, WorkSeen, EmailChoices):
        model.objects.filter(person=person).delete()
