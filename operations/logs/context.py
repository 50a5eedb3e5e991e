"""What this thread is at: a request or a task of Celery, so that each line of a log can say for what it was."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")
SECRET_ARGUMENTS = frozenset({"token", "key", "uidb36", "signature"})
"""Arguments of addresses that let somebody in; no log repeats them."""


@dataclass(frozen=True)
class Doing:
    """`request_id` goes from a request to the tasks that it asks for, and from those to theirs."""

    request_id: str = ""
    request: HttpRequest | None = None
    task: str = ""
    task_id: str = ""


NOTHING = Doing()
doing: ContextVar[Doing] = ContextVar("doing", default=NOTHING)


def request_id_of(request: HttpRequest) -> str:
    """The one that a proxy gave it, where it is one, or a new one."""
    given = request.headers.get("X-Request-ID", "")
    return given if WELL_FORMED.fullmatch(given) else uuid.uuid4().hex


def user_id_of(request: HttpRequest | None) -> int | None:
    """Whoever is signed in, if somebody has asked already: a line of a log is no reason to ask the database."""
    user = getattr(request, "user", None)
    if isinstance(user, SimpleLazyObject):
        user = getattr(request, "_cached_user", None)
    return getattr(user, "pk", None)


def path_of(request: HttpRequest) -> str:
    """The path as a log may say it: without the query, and without what lets somebody in."""
    match = request.resolver_match
    if match is None:
        # An address that is none, perhaps a mistyped one with a secret in it.
        first, slash, rest = request.path.lstrip("/").partition("/")
        return f"/{first}{slash}{'…' if rest else ''}"
    path = request.path
    for name in SECRET_ARGUMENTS & match.kwargs.keys():
        path = path.replace(str(match.kwargs[name]), "…")
    return path
