"""The sessions in which somebody is signed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.crypto import salted_hmac

from core.people.models import Session, User
from core.people.rules.devices import device_of

SALT = "people.sessions"


@dataclass(frozen=True)
class OwnSession:
    """A session as its owner sees it. `handle` identifies it without giving access."""

    handle: str
    device: str
    address: str
    signed_in_at: datetime | None
    seen_at: datetime | None
    is_this: bool


def own_sessions(user: User, *, this: str | None, now: datetime) -> Sequence[OwnSession]:
    """List the valid sessions of `user`, `this` one first, then the last used."""
    sessions = [
        OwnSession(
            handle=handle_of(row.session_key),
            device=device_of(row.user_agent),
            address=row.address,
            signed_in_at=row.signed_in_at,
            seen_at=row.seen_at,
            is_this=row.session_key == this,
        )
        for row in Session.objects.filter(person=user.pk, expire_date__gt=now).defer("session_data")
    ]
    sessions.sort(key=lambda own: own.seen_at.timestamp() if own.seen_at else 0.0, reverse=True)
    return sorted(sessions, key=lambda own: not own.is_this)


def handle_of(session_key: str) -> str:
    return salted_hmac(SALT, session_key, algorithm="sha256").hexdigest()[:32]
