"""Finding the account for what somebody typed to sign in, and the sessions in which they are signed in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils.crypto import salted_hmac

from core.people.models import PersonalLink, Session, User
from core.people.permissions import may_have_link
from core.people.rules.devices import device_of


def owner_of(email: str) -> User | None:
    """Return the owner of an address; giving an address without confirming it does not make one."""
    # Addresses are stored in lower case. In upper case, which databases compare, ı is I: another domain.
    return User.objects.filter(email=email.lower()).first()


def account_named(name: str) -> User | None:
    """Return the account with this e-mail address, confirmed, or this user name, in any case."""
    if not name:
        return None
    lower = name.lower()
    accounts = User.objects.filter(Q(email=lower) | Q(username__iexact=name))
    named = [user for user in accounts if lower in (user.email, user.username.lower())]
    return min(named, key=lambda user: user.email != lower, default=None)


def person_of_link(digest: str, *, now: datetime) -> User | None:
    """Return whom a personal link signs in; None where it has ended, or the account may not be entered by one."""
    # One query: a link that is replaced meanwhile does not come with the account as it is afterwards.
    link = PersonalLink.objects.filter(digest=digest, expires_at__gt=now).select_related("user").first()
    return link.user if link is not None and may_have_link(link.user) else None


SALT = "people.sessions"


def own_sessions(user: User, *, this: str | None, now: datetime) -> list[dict[str, Any]]:
    """List the valid sessions of `user`, `this` one first, then the last used.

    A `handle` identifies a session without giving access.
    """
    found = Session.objects.filter(person=user.pk, expire_date__gt=now).defer("session_data")
    latest_first = sorted(found, key=lambda row: row.seen_at.timestamp() if row.seen_at else 0.0, reverse=True)
    return [
        {
            "handle": handle_of(row.session_key),
            "device": device_of(row.user_agent),
            "address": row.address,
            "signed_in_at": row.signed_in_at,
            "seen_at": row.seen_at,
            "is_this": row.session_key == this,
        }
        for row in sorted(latest_first, key=lambda row: row.session_key != this)
    ]


def handle_of(session_key: str) -> str:
    return salted_hmac(SALT, session_key, algorithm="sha256").hexdigest()[:32]
