"""Mails about an address that somebody typed. A worker looks up its owner, so that no page reveals it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from urllib.parse import urlsplit

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.password_reset import request_password_reset
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.core.internal.ratelimit import consume
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.utils.translation import override

from core.people.models import User
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
