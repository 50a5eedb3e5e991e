"""E-mails with the links of invitations, each sent once.

They are rows, written with what asks for them, and sent in the background. A worker claims a row before it sends. If it
dies before it knows whether the server took the message, the row is marked as not sent, and a manager decides: the
message is not lost without a word, and never arrives twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urljoin

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext_noop, override

from languages.rules.page_languages import tag_of
from people.models import Invitation, InvitationMail, MailState, User
from people.rules.invitations import InvitationState
from people.rules.mail_failures import is_temporary, said_by
from people.selectors.invitations import invitation_state

MOST_ATTEMPTS = 5
FIRST_PAUSE = timedelta(minutes=1)
PAUSES_GROW_BY = 4
"""(ours) Five attempts within an hour and a half."""
INTERRUPTED_AFTER = timedelta(minutes=10)
"""Longer than any mail server takes to answer."""
DUE_AT_ONCE = 200
INTERRUPTED = gettext_noop("Sending was interrupted, so nobody knows whether it arrived.")
CLOSED = gettext_noop("The invitation was closed before.")


@dataclass(frozen=True)
class Mailing:
    """Who asks for e-mails, from where their links begin, and the language of the page."""

    by: User
    site: str
    language: str = ""


@dataclass(frozen=True)
class Failure:
    reason: str
    may_retry: bool


Post = Callable[[EmailMessage], Failure | None]


def queue_mails(
    *, invitations: Sequence[Invitation], mailing: Mailing, is_reminder: bool = False, now: datetime
) -> int:
    """Queue an e-mail for each of `invitations`; call it within the transaction that locks them. Return how many."""
    spoken = _spoken(invitations)
    mails = InvitationMail.objects.bulk_create(
        InvitationMail(
            invitation=invitation,
            is_reminder=is_reminder,
            site=mailing.site,
            language=spoken.get(invitation.pk, mailing.language),
            due_at=now,
            asked_at=now,
            asked_by=mailing.by,
        )
        for invitation in invitations
    )
    return len(mails)


def _spoken(invitations: Sequence[Invitation]) -> dict[int, str]:
    """Return the language of each invitation for one language, if the pages are in it."""
    through = Invitation.languages.through.objects.filter(invitation__in=invitations)
    tags: dict[int, list[str]] = {}
    for invitation, tag in through.values_list("invitation", "language"):
        tags.setdefault(invitation, []).append(tag)
    codes = {tag_of(code): code for code, _name in settings.LANGUAGES}
    return {invitation: codes[known[0]] for invitation, known in tags.items() if len(known) == 1 and known[0] in codes}


def due(*, now: datetime) -> list[int]:
    """Return e-mails to be sent now, the longest due first."""
    queued = InvitationMail.objects.filter(state=MailState.QUEUED, due_at__lte=now)
    return list(queued.order_by("due_at", "pk").values_list("pk", flat=True)[:DUE_AT_ONCE])


def give_up_interrupted(*, now: datetime) -> int:
    """Mark e-mails as not sent whose worker died while it was sending them."""
    dead = InvitationMail.objects.filter(state=MailState.SENDING, due_at__lt=now - INTERRUPTED_AFTER)
    return dead.update(state=MailState.FAILED, reason=INTERRUPTED)


def send(*, mail_id: int, post: Post, clock: Callable[[], datetime]) -> None:
    """Send one e-mail, if it is due and no other worker has claimed it."""
    mail = _claim(mail_id, clock())
    if mail is None:
        return
    # No transaction stays open while the mail server answers.
    failure = post(_message(mail))
    # A manager may have been told meanwhile that it was interrupted.
    ours = InvitationMail.objects.filter(pk=mail.pk, state=MailState.SENDING, attempts=mail.attempts)
    if failure is None:
        InvitationMail.objects.filter(pk=mail.pk, attempts=mail.attempts).update(
            state=MailState.SENT, sent_at=clock(), reason=""
        )
    elif failure.may_retry and mail.attempts < MOST_ATTEMPTS:
        pause: timedelta = FIRST_PAUSE * PAUSES_GROW_BY ** (mail.attempts - 1)
        ours.update(state=MailState.QUEUED, due_at=clock() + pause, reason=_short(failure.reason))
    else:
        ours.update(state=MailState.FAILED, reason=_short(failure.reason))


def post_by_server(message: EmailMessage) -> Failure | None:
    """Hand `message` to the mail server. Until it is connected, nothing can have been sent."""
    connection = get_connection()
    try:
        connection.open()
    except OSError as error:  # SMTPException is one
        return Failure(said_by(error), may_retry=True)
    try:
        connection.send_messages([message])
    except OSError as error:
        return Failure(said_by(error), is_temporary(error))
    finally:
        connection.close()
    return None


def _claim(mail_id: int, now: datetime) -> InvitationMail | None:
    with transaction.atomic():
        mails = InvitationMail.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        mail = mails.filter(pk=mail_id, state=MailState.QUEUED, due_at__lte=now).first()
        if mail is None:
            return None
        mail.invitation = Invitation.objects.select_related("project", "created_by").get(pk=mail.invitation_id)
        if not mail.invitation.email or invitation_state(mail.invitation, now) is not InvitationState.OPEN:
            mail.state, mail.reason = MailState.FAILED, CLOSED
            mail.save(update_fields=["state", "reason"])
            return None
        mail.state, mail.due_at, mail.attempts = MailState.SENDING, now, mail.attempts + 1
        mail.save(update_fields=["state", "due_at", "attempts"])
    return mail


def _message(mail: InvitationMail) -> EmailMessage:
    invitation = mail.invitation
    path = reverse("people:invitation-accept", args=[invitation.token])
    context = {
        "invitation": invitation,
        "project": invitation.project,
        "is_reminder": mail.is_reminder,
        "url": urljoin(mail.site, path),
    }
    with override(mail.language or settings.LANGUAGE_CODE):
        subject = render_to_string("people/email/invitation_subject.txt", context)
        body = render_to_string("people/email/invitation.txt", context)
    # A line break in a name would begin another header, which Django refuses with an error.
    return EmailMessage(" ".join(subject.split()), body, None, [invitation.email])


def _short(reason: str) -> str:
    return reason[: InvitationMail._meta.get_field("reason").max_length]
