"""Tokens for programs that act for a person. Only a digest is stored: a token is shown once, when it is made."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.people.models import ApiToken, User
from core.people.services.members import lock_person

BEGINNING = "clt_"
"""The prefix by which programs that search files for secrets recognise a token."""
TOKEN_BYTES = 32
MAX_TOKENS = 50
"""How many valid tokens one person may have."""
MAX_LIFETIME = timedelta(days=365)
USE_NOTED_EVERY = timedelta(minutes=1)


class TokenError(Exception):
    """The token cannot be made; the message says why and what to do."""


@dataclass(frozen=True)
class NewToken:
    row: ApiToken
    token: str


def make_token(*, user: User, name: str, may_write: bool, expires_at: datetime, now: datetime) -> NewToken:
    """Make a token and return its text, which is shown only this once.

    Raises TokenError where it is to last too long, or the person has as many as they may have.
    """
    if expires_at > now + MAX_LIFETIME:
        raise TokenError(_("A token is valid for a year at most. Choose an earlier day."))
    token = BEGINNING + secrets.token_urlsafe(TOKEN_BYTES)
    with transaction.atomic():
        lock_person(user)
        if in_force(now).filter(user=user).count() >= MAX_TOKENS:
            message = _("You have %(most)s tokens, the most allowed. Revoke one that you no longer need.")
            raise TokenError(message % {"most": MAX_TOKENS})
        row = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=token[: ApiToken._meta.get_field("prefix").max_length],
            digest=digest_of(token),
            may_write=may_write,
            created_at=now,
            expires_at=expires_at,
        )
    return NewToken(row, token)


def revoke_token(*, token: ApiToken, now: datetime) -> None:
    """Revoke a token at once and for good. Repeating it changes nothing."""
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now)


def revoke_all_tokens(*, user: User, now: datetime) -> int:
    """End every token of a person; return how many were valid."""
    return in_force(now).filter(user=user).update(revoked_at=now)


def token_of(key: str, *, now: datetime) -> ApiToken | None:
    """Return the row of a valid token of an active person; None for anything else."""
    return in_force(now).filter(digest=digest_of(key), user__is_active=True).select_related("user").first()


def note_use(*, token: ApiToken, now: datetime) -> None:
    """Record when it was last used, to the minute, so that a busy program causes few writes."""
    if token.last_used_at is None or token.last_used_at <= now - USE_NOTED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


def in_force(now: datetime) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(expires_at__gt=now, revoked_at=None)


def digest_of(token: str) -> str:
    # Fast on purpose: a token is 256 random bits, which no list of likely passwords contains.
    return sha256(token.encode()).hexdigest()
