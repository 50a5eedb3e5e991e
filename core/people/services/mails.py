"""Mails: each a row that is sent once, and those about an address that somebody typed or an administrator replaced.

A row is written with what asks for it, and sent in the background. A worker claims a row before it sends. If it dies
before it knows whether the server took the message, the row is marked as not sent: the message is not lost without a
word, and never arrives twice. Of an address that was typed a worker looks up the owner, so that no page reveals it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.password_reset import request_password_reset
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.core.internal.ratelimit import consume
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.wsgi import WSGIRequest
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_noop, override

from core.jobs.services import leases
from core.people.models import MailState, OutgoingMail, User
from core.people.rules.mail_failures import is_temporary, said_by
from core.people.selectors.accounts import owner_of


def send_reset(*, email: str, site: str, language: str) -> None:
    """Mail a link to choose a new password to the owner of `email`; to a stranger, nothing."""
    user = owner_of(email) or _newest_who_gave(email)
    if user is not None and user.is_active:
        with _as_if_asked(site, user.interface_language or language) as request:
            request_password_reset(request, email, [user], token_generator=None)


def send_confirmation(*, user_id: int, site: str, language: str) -> None:
    """Mail a link to confirm the address that somebody gave when they joined.

    If it belongs to another account, say in the mail that there is one.
    """
    address = EmailAddress.objects.get_new(User(pk=user_id))
    if address is None:
        return
    with _as_if_asked(site, language) as request:
        # Joining again and again with another's address fills no mailbox.
        counted = consume(request, app="allauth.account", action="confirm_email", key=address.email, limit_get=True)
        if counted is None:
            return
        try:
            if owner_of(address.email):
                get_adapter().send_account_already_exists_mail(address.email)
            else:
                address.send_confirmation(request)
        except OSError:
            counted.rollback()
            raise


def _newest_who_gave(email: str) -> User | None:
    address = EmailAddress.objects.filter(email=email.lower(), verified=False).order_by("-pk").first()
    return User.objects.get(pk=address.user_id) if address else None


@contextmanager
def _as_if_asked(site: str, language: str) -> Iterator[HttpRequest]:
    """Make a request for the start page of `site`, from which allauth builds links."""
    address = urlsplit(site)
    request = WSGIRequest(
        {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": "/",
            "HTTP_HOST": address.netloc,
            "HTTP_X_FORWARDED_PROTO": address.scheme,
            "wsgi.url_scheme": address.scheme,
            "wsgi.input": BytesIO(),
        }
    )
    request.user = AnonymousUser()
    with context.request_context(request), override(language):
        yield request


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


def replace_address(*, user: User, before: str) -> None:
    """Disable an address that an administrator replaced, and notify its owner."""
    EmailAddress.objects.filter(user=user).exclude(email__iexact=user.email).delete()
    if not before:
        return
    template = "account/email/email_changed" if user.email else "account/email/email_deleted"
    context = {"from_email": before, "to_email": user.email, "deleted_email": before}
    transaction.on_commit(lambda: get_adapter().send_notification_mail(template, user, context, before))
