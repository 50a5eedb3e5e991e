"""What panels call things in the addresses that they send people to, and how Prolific signs its webhooks.

Sources: https://docs.prolific.com/api-reference/webhooks/verifying;
https://www.sona-systems.com/researcher/using-the-survey-code-feature/; the panels' guides for researchers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import quote

from django.db import models
from django.utils.translation import gettext_lazy as _

from tabular.downloads import safe_cell

MAX_ID_CHARACTERS = 200
SIGNED_WITHIN = timedelta(minutes=5)
FREED = frozenset({"RETURNED", "TIMED-OUT", "TIMED_OUT"})
"""States of a submission that free what the person had taken."""


class PanelKind(models.TextChoices):
    PROLIFIC = "prolific", "Prolific"
    CONNECT = "connect", "CloudResearch Connect"
    SONA = "sona", "SONA"
    OTHER = "other", _("Another panel")


class ParameterNames(NamedTuple):
    """Parameters of the address: who the person is, and which submission of theirs this is."""

    person: str
    session: str


USUAL_NAMES = {
    PanelKind.PROLIFIC: ParameterNames("PROLIFIC_PID", "SESSION_ID"),
    PanelKind.CONNECT: ParameterNames("participantId", "assignmentId"),
    PanelKind.SONA: ParameterNames("id", ""),
    PanelKind.OTHER: ParameterNames("person", "session"),
}


PLACEHOLDERS: dict[PanelKind, ParameterNames] = {
    PanelKind.PROLIFIC: ParameterNames("{{%PROLIFIC_PID%}}", "{{%SESSION_ID%}}"),
    PanelKind.SONA: ParameterNames("%SURVEY_CODE%", ""),
}
"""What a panel replaces in the address that it is given. Others add their parameters by themselves."""
NOT_REPLACED = re.compile(r"[{}<>$\[\]]|\A%.*%\Z")
SEPARATORS = frozenset(',;"')
NOBODY = frozenset({"null", "none", "undefined", "nan", "assignment_id_not_available"})
"""What scripts and panels put where they know nobody; the last is of Mechanical Turk's preview."""
BARE_NAMES = frozenset(
    name.strip("{}%").lower() for names in (*USUAL_NAMES.values(), *PLACEHOLDERS.values()) for name in names if name
)
"""A placeholder whose marks were lost on the way, which is the same for everybody as well."""
UNREADABLE = "\ufffd"
"""What stands for bytes that are no text."""


def is_an_id(value: str) -> bool:
    """Whether a panel may call a person or a submission so."""
    word = value.strip().lower()
    is_somebody = (
        bool(word) and word not in NOBODY | BARE_NAMES and UNREADABLE not in word and not is_placeholder(value)
    )
    # It goes into the panel's files for pay as it is.
    is_plain = value.isprintable() and not set(value) & SEPARATORS and safe_cell(value) == value
    return is_somebody and is_plain and len(value) <= MAX_ID_CHARACTERS


def is_placeholder(value: str) -> bool:
    """Whether the panel should have put something else here: as it is, it would be the same for everybody."""
    return NOT_REPLACED.search(value.strip()) is not None


def address_for(panel: PanelKind, address: str, names: ParameterNames) -> str:
    """The address to give the panel, with what it replaces; `names` are those of the study's parameters."""
    asked = zip(names, PLACEHOLDERS.get(panel, ParameterNames("", "")), strict=True)
    query = "&".join(f"{name}={placeholder}" for name, placeholder in asked if name and placeholder)
    return f"{address}?{query}" if query else address


def return_address(template: str, *, person: str, session: str) -> str:
    """Put the panel's own names of the person and the submission where the address asks for them."""
    return template.replace("{person}", quote(person, safe="")).replace("{session}", quote(session, safe=""))


def signature_of(body: bytes, *, timestamp: str, secret: str) -> str:
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def is_genuine(body: bytes, *, timestamp: str, signature: str, secret: str, now: datetime) -> bool:
    """Whether the panel sent `body` within the last minutes. `timestamp`: seconds since 1970, as sent."""
    try:
        sent_s = int(timestamp)
        given = base64.b64decode(signature, validate=True)
    except (ValueError, binascii.Error):
        return False
    if not secret or abs(now.timestamp() - sent_s) > SIGNED_WITHIN.total_seconds():
        return False
    return hmac.compare_digest(given, base64.b64decode(signature_of(body, timestamp=timestamp, secret=secret)))
