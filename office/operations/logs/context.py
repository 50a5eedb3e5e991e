"""The current request or Celery task of a thread, so that each line of a log can name it."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")
SECRET_ARGUMENTS = frozenset({"token", "key", "uidb36", "signature"})
"""Arguments of addresses that give access; no log repeats them."""


@dataclass(frozen=True)
class LogContext:
    """`request_id` goes from a request to the tasks that it queues, and from those to theirs."""

    request_id: str = ""
    request: HttpRequest | None = None
    task: str = ""
    task_id: str = ""


NOTHING = LogContext()
doing: ContextVar[LogContext] = ContextVar("doing", default=NOTHING)


def request_id_of(request: HttpRequest) -> str:
    """Return the id that a proxy gave it, if valid, or a new one."""
    given = request.headers.get("X-Request-ID", "")
    return given if WELL_FORMED.fullmatch(given) else uuid.uuid4().hex


def user_id_of(request: HttpRequest | None) -> int | None:
    """Return the signed-in user, if already loaded: a line of a log is no reason to query the database."""
    user = getattr(request, "user", None)
    if isinstance(user, SimpleLazyObject):
        user = getattr(request, "_cached_user", None)
    return getattr(user, "pk", None)


def path_of(request: HttpRequest) -> str:
    """Return the path for logs: without the query, and without secrets."""
    match = request.resolver_match
    if match is None:
        # An unknown address, perhaps a mistyped one with a secret in it.
        first, slash, rest = request.path.lstrip("/").partition("/")
        return f"/{first}{slash}{'…' if rest else ''}"
    path = request.path
    for name in SECRET_ARGUMENTS & match.kwargs.keys():
        path = path.replace(str(match.kwargs[name]), "…")
    return path
