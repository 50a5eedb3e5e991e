"""E-mails: when somebody's digest is due, and links that stop e-mails without a sign-in."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from django.core import signing
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Digest(TextChoices):
    OFF = "off", pgettext_lazy("e-mail", "Never")
    DAILY = "daily", _("Every morning")
    WEEKLY = "weekly", _("On Monday mornings")


FROM_HOUR, TO_HOUR = 7, 12
"""(ours) Local time: a digest that could not be sent in the morning waits for the next one."""


def period_due(digest: str, local: datetime) -> str:
    """Return the day or week for which a digest is due at a local time; empty outside the morning it is for."""
    if not FROM_HOUR <= local.hour < TO_HOUR:
        return ""
    if digest == Digest.DAILY:
        return local.date().isoformat()
    if digest == Digest.WEEKLY and local.isoweekday() == 1:
        year, week, _day = local.isocalendar()
        return f"{year}-W{week:02}"
    return ""


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone by its name; UTC if there is none of that name."""
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")


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
