"""Links by which somebody without an account reviews the translations of a project into one language."""

from __future__ import annotations

from django.core import signing
from django.utils.translation import gettext as _

SALT = "crosslens.review-link"
DAYS = 30
SECONDS_PER_DAY = 24 * 60 * 60


class ReviewLinkError(Exception):
    """The link opens nothing; the message says why and what to do."""


def link_token(project: int, tag: str) -> str:
    return signing.dumps([project, tag], salt=SALT)


def read_token(token: str) -> tuple[int, str]:
    """Return the key of the project and the tag of the language.

    Raises ReviewLinkError.
    """
    try:
        project, tag = signing.loads(token, salt=SALT, max_age=DAYS * SECONDS_PER_DAY)
    except signing.SignatureExpired as error:
        text = _("This link was valid for %(days)s days. Ask the managers of the project for a new one.")
        raise ReviewLinkError(text % {"days": DAYS}) from error
    except (signing.BadSignature, TypeError, ValueError) as error:
        text = _("This link is not complete. Copy the whole address, or ask the managers of the project for a new one.")
        raise ReviewLinkError(text) from error
    return project, tag
