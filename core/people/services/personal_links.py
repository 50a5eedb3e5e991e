"""Personal links: the address that is the account of somebody without a password. Only a digest of it is stored."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.db import transaction

from core.people.models import Membership, PersonalLink, User
from core.people.selectors.accounts import person_of_link
from core.people.services import audit_log
from core.people.services.sessions import end_other_sessions
from core.people.services.tokens import TOKEN_BYTES, digest_of

LIFETIME = timedelta(days=90)
"""(ours) From the last time that somebody signed in with it."""


def make_link(*, user: User, this: str | None = None, now: datetime) -> str:
    """Make the link of `user` in place of the one they had, and return its secret part, which nobody sees again.

    All sessions but `this` end.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    made = {"digest": digest_of(token), "made_at": now, "expires_at": now + LIFETIME}
    with transaction.atomic():
        end_other_sessions(user=user, this=this, with_tokens=True, now=now)
        PersonalLink.objects.update_or_create(user=user, defaults=made)
    return token


def use_link(*, token: str, now: datetime) -> User | None:
    """Return whom the link signs in, and have it last from `now` on; None if it no longer works."""
    person = person_of_link(digest_of(token), now=now)
    if person is not None:
        PersonalLink.objects.filter(user=person).update(expires_at=now + LIFETIME)
    return person


def revoke_link(*, membership: Membership, by: User, now: datetime) -> None:
    """End the link of a member, and all that was signed in with it. Repeating it changes nothing."""
    with transaction.atomic():
        audit_log.lock(membership.project, by)
        if PersonalLink.objects.filter(user=membership.user).delete()[0]:
            end_other_sessions(user=membership.user, this=None, with_tokens=True, now=now)
            audit_log.record(
                project=membership.project, action="link.revoked", about="", by=by, person=membership.user, now=now
            )
