"""Lines of logs: JSON in production, text for people, and in both nothing that was written about an image."""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest
from pythonjsonlogger.json import JsonFormatter

from office.operations.logs.context import doing, path_of, user_id_of

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
