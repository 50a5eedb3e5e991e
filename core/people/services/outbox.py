"""E-mails that are rows, each sent once.

A row is written with what asks for it, and sent in the background. A worker claims a row before it sends. If it dies
before it knows whether the server took the message, the row is marked as not sent: the message is not lost without a
word, and never arrives twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from django.core.mail import EmailMessage, get_connection
from django.utils.translation import gettext_noop

from core.jobs.services import leases
from core.people.models import MailState, OutgoingMail
from core.people.rules.mail_failures import is_temporary, said_by

MAX_ATTEMPTS = 5
FIRST_PAUSE = timedelta(minutes=1)
PAUSES_GROW_BY = 4
"""(ours) Five attempts within an hour and a half."""
INTERRUPTED_AFTER = timedelta(minutes=10)
"""Longer than any mail server takes to answer."""
INTERRUPTED = gettext_noop("Sending was interrupted, so nobody knows whether it arrived.")


@dataclass(frozen=True)
class SendingFailure:
    reason: str
    may_retry: bool


Post = Callable[[EmailMessage], SendingFailure | None]
MailT = TypeVar("MailT", bound=OutgoingMail)


@dataclass(frozen=True)
class MailOutbox(Generic[MailT]):
    """The e-mails of one model. `compose` returns the message of a row, or the reason why it is not needed any more."""

    model: type[MailT]
    compose: Callable[[MailT, datetime], EmailMessage | str]

    def due(self, *, now: datetime) -> list[int]:
        """List e-mails to be sent now, the longest due first; give up those whose worker died as it sent them."""
        mails = self.model._default_manager.all()
        dead = mails.filter(state=MailState.SENDING, due_at__lt=now - INTERRUPTED_AFTER)
        dead.update(state=MailState.FAILED, reason=INTERRUPTED)
        return leases.due_rows(mails.filter(state=MailState.QUEUED), now=now)

    def send(self, *, mail_id: int, post: Post, clock: Callable[[], datetime]) -> None:
        """Send one e-mail, if it is due and no other worker has claimed it."""
        queued = self.model._default_manager.filter(pk=mail_id, state=MailState.QUEUED)
        mail = leases.claim_due(queued, now=clock(), state=MailState.SENDING)
        if mail is None:
            return
        # Somebody may have been told meanwhile that it was interrupted.
        ours = self.model._default_manager.filter(pk=mail.pk, state=MailState.SENDING, attempts=mail.attempts)
        message = self.compose(mail, clock())
        if isinstance(message, str):
            ours.update(state=self.model.NOT_NEEDED, reason=self._short(message))
            return
        # No transaction stays open while the mail server answers.
        failure = post(message)
        if failure is None:
            sent = self.model._default_manager.filter(pk=mail.pk, attempts=mail.attempts)
            sent.update(state=MailState.SENT, sent_at=clock(), reason="")
        elif failure.may_retry and mail.attempts < MAX_ATTEMPTS:
            pause = leases.growing_pause(mail.attempts, first=FIRST_PAUSE, grows_by=PAUSES_GROW_BY)
            ours.update(state=MailState.QUEUED, due_at=clock() + pause, reason=self._short(failure.reason))
        else:
            ours.update(state=MailState.FAILED, reason=self._short(failure.reason))

    def _short(self, reason: str) -> str:
        return reason[: OutgoingMail.REASON_LENGTH]


def post_by_server(message: EmailMessage) -> SendingFailure | None:
    """Hand `message` to the mail server. Until it is connected, nothing can have been sent."""
    connection = get_connection()
    try:
        connection.open()
    except OSError as error:  # SMTPException is one
        return SendingFailure(said_by(error), may_retry=True)
    try:
        connection.send_messages([message])
    except OSError as error:
        return SendingFailure(said_by(error), is_temporary(error))
    finally:
        connection.close()
    return None
