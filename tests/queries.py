"""What the database is asked."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection
from django.test.utils import CaptureQueriesContext


def queries_of(ask: Callable[[], object]) -> list[str]:
    """The statements that `ask` sends."""
    with CaptureQueriesContext(connection) as asked:
        ask()
    return [query["sql"] for query in asked.captured_queries]
