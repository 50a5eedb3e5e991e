from __future__ import annotations

from datetime import datetime
from typing import cast

from allauth.account.models import EmailAddress
from django.core import mail
from django.core.mail import EmailMultiAlternatives

from core.people.models import User
from core.people.services.mails import post_by_server
from office.dashboard.models import Notice
from office.dashboard.services.emails import NOTICES
from tests.factories import NOW


def confirm_address(user: User) -> User:
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def send_all(at: datetime = NOW) -> list[EmailMultiAlternatives]:
    """Send what is due and return it."""
    before = len(mail.outbox)
    for pk in NOTICES.due(now=at):
        NOTICES.send(mail_id=pk, post=post_by_server, clock=lambda: at)
    return cast(list[EmailMultiAlternatives], mail.outbox[before:])


def kinds_for(user: User) -> list[str]:
    return list(Notice.objects.filter(person=user).order_by("pk").values_list("kind", flat=True))


def html_of(message: EmailMultiAlternatives) -> str:
    ((content, kind),) = message.alternatives
    assert kind == "text/html"
    return str(content)
