"""What lets somebody in: the password, and sessions and tokens that it gave them, which end with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.crypto import salted_hmac

from people.devices import device_of
from people.models import Session, User
from people.tokens import revoke_all_tokens

SALT = "people.access"


@dataclass(frozen=True)
class OwnSession:
    """A session as its owner sees it. `handle` names it without letting anybody in."""

    handle: str
    device: str
    address: str
    signed_in_at: datetime | None
    seen_at: datetime | None
    is_this: bool


def own_sessions(user: User, *, this: str | None, now: datetime) -> Sequence[OwnSession]:
    """Those that still let `user` in, `this` one first, then the last used."""
    found = [
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
    found.sort(key=lambda own: own.seen_at.timestamp() if own.seen_at else 0.0, reverse=True)
    return sorted(found, key=lambda own: not own.is_this)


def end_session(*, user: User, handle: str) -> bool:
    """Whether there was such a session of `user`."""
    keys = Session.objects.filter(person=user.pk).values_list("session_key", flat=True)
    named = [key for key in keys if handle_of(key) == handle]
    return bool(Session.objects.filter(pk__in=named, person=user.pk).delete()[0])


def end_other_sessions(*, user: User, this: str | None, with_tokens: bool, now: datetime) -> None:
    """End all sessions of `user` but `this`, and revoke their tokens too where that is asked for."""
    with transaction.atomic():
        # As whoever deletes the account does, so that neither waits for the other's rows.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        Session.objects.filter(person=user.pk).exclude(pk=this).delete()
        if with_tokens:
            revoke_all_tokens(user=user, now=now)


def save_password(*, user: User, this: str | None = None, now: datetime) -> None:
    """Keep the password that `user` was just given, and end what the old one let in, but for the session `this`."""
    with transaction.atomic():
        user.save(update_fields=["password"])
        end_other_sessions(user=user, this=this, with_tokens=True, now=now)


def handle_of(session_key: str) -> str:
    return salted_hmac(SALT, session_key, algorithm="sha256").hexdigest()[:32]
