"""Lines of logs: JSON in production, text for people; each names its request or task, and quotes no caption."""

from __future__ import annotations

import logging
import re
import traceback
import uuid
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from pythonjsonlogger.json import JsonFormatter

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


FIELDS = ("time", "level", "logger", "message")
OF_THE_CONTEXT = ("request_id", "user_id", "task", "task_id")
OF_A_REQUEST = ("method", "path", "status", "duration_ms", "view")
OF_AN_ACCOUNT = ("event", "account", "address")
OF_A_TROUBLE = ("exc_info", "stack_info")
LOGGED = frozenset({*FIELDS, *OF_THE_CONTEXT, *OF_A_REQUEST, *OF_AN_ACCOUNT, *OF_A_TROUBLE})


class ContextFilter(logging.Filter):
    """Adds the context of a line, and removes what must not be in a log. For a handler, not a logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        now = doing.get()
        record.request_id, record.task, record.task_id = now.request_id, now.task, now.task_id
        record.user_id = user_id_of(now.request)
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            record.args = tuple(path_of(request) if each == request.path else each for each in record.args)
        if isinstance(record.args, dict) and record.exc_info and record.exc_info[1] and "exc" in record.args:
            # Celery's words for a task that failed.
            record.args = record.args | {"exc": message(record.exc_info[1])}
        return True


def message(error: BaseException) -> str:
    """Return the message of an error, without the refused row, and somebody's words in it, that PostgreSQL adds."""
    lines = str(error).splitlines()
    words = (lines[0] if lines else "") if _is_of_a_database(error) else str(error)
    return f"{type(error).__name__}: {words}"


def _is_of_a_database(error: BaseException) -> bool:
    return isinstance(error, DatabaseError) or type(error).__module__.partition(".")[0] in ("psycopg", "sqlite3")


def traceback_text(error: BaseException) -> str:
    """Format the traceback of an error and of its causes, each as `message`."""
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    parts = [traceback_text(behind)] if behind else []
    trace = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    return "\n".join([*parts, *([trace] if trace else []), message(error)])


class LineFormatter(logging.Formatter):
    """For people."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        return traceback_text(ei[1]) if ei[1] else ""


class JsonLines(JsonFormatter):
    """For programs: one object a line; docs/operators.md lists its fields."""

    def __init__(self) -> None:
        super().__init__(list(FIELDS), json_ensure_ascii=False)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        return traceback_text(ei[1]) if ei[1] else ""

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        super().add_fields(log_data, record, message_dict)
        at = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds")
        log_data |= {"time": at, "level": record.levelname, "logger": record.name}

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        # Libraries add whole requests, or the arguments of tasks.
        return {name: value for name, value in log_data.items() if name in LOGGED and value not in ("", None)}


def formatter(log_format: str) -> logging.Formatter:
    return JsonLines() if log_format == "json" else LineFormatter("{asctime} {levelname} {name}: {message}", style="{")
