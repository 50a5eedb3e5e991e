"""Links that stop e-mails without a sign-in. Who has one can do that and nothing else."""

from __future__ import annotations

from django.core import signing

SALT = "dashboard.emails.stop"


def token_to_stop(person: int, kind: str) -> str:
    return signing.dumps([person, kind], salt=SALT)


def read_token(token: str) -> tuple[int, str] | None:
    """Return the person and the kind of e-mail; None if the token is none of ours."""
    try:
        person, kind = signing.loads(token, salt=SALT)
    except (signing.BadSignature, TypeError, ValueError):
        return None
    return (person, kind) if isinstance(person, int) and isinstance(kind, str) else None
