"""What a need is, and in which order needs are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

EXPIRES_WITHIN = timedelta(days=1)
FAILED_WITHIN = timedelta(days=14)
"""(ours) What failed earlier is no news any more."""


class NeedKind(TextChoices):
    """In the order in which they are shown."""

    DECISION = "decision", _("To decide")
    PEOPLE = "people", _("People who wait for you")
    DEADLINE = "deadline", _("Expires soon")
    FAILURE = "failure", _("Failed")
    SETUP = "setup", _("To set up")


ORDER = {kind: place for place, kind in enumerate(NeedKind.values)}


@dataclass(frozen=True)
class Need:
    """One line: `text` leads to `url`. `about` names what failed, for those who dismiss it; the rest goes when done."""

    kind: NeedKind
    text: str
    url: str
    detail: str = ""
    at: datetime | None = None
    about: str = ""


def in_order(needs: Iterable[Need]) -> list[Need]:
    """Sort needs by kind; of a kind, the newest first, and what has no time after it."""
    return sorted(needs, key=lambda need: (ORDER[need.kind], -(need.at.timestamp() if need.at else 0), need.text))


@dataclass(frozen=True)
class ProjectNeeds:
    """`slug` is empty for what belongs to no project yet."""

    slug: str
    name: str
    needs: Sequence[Need]
