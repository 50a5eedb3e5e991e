"""Who can sign in to the demo, as `data/people.yaml` lists them."""

from __future__ import annotations

from typing import NamedTuple

from core.people.models import LanguageLevel, Role
from tools.demo.files import read

PASSWORD = "look-then-write"  # noqa: S105 - shown when the demo starts, on one's own computer


class DemoPerson(NamedTuple):
    username: str
    first_name: str
    role: Role
    what: str
    language: str = ""
    level: LanguageLevel = LanguageLevel.NATIVE
    interface_language: str = ""


def _described(username: str, *, role: str, level: str = "NATIVE", **others: str) -> DemoPerson:
    return DemoPerson(username, role=Role[role], level=LanguageLevel[level], **others)


class SignIn(NamedTuple):
    username: str
    password: str
    what: str


MANAGER, RESEARCHER = "mara", "rami"
PEOPLE = tuple(_described(username, **fields) for username, fields in read("people.yaml").items())
NEEDING_CONSENT = (Role.ANNOTATOR, Role.RATER, Role.PLAYER)
LANGUAGES = tuple(dict.fromkeys(person.language for person in PEOPLE if person.role == Role.ANNOTATOR))
OFFERED = (MANAGER, RESEARCHER, "yusuf-ar", "emil-de", "pia-en")
"""Whom the front page offers first: one of each role."""


def sign_ins() -> list[SignIn]:
    """Return who can sign in to the demo, the manager first."""
    return [SignIn(person.username, PASSWORD, person.what) for person in PEOPLE]
