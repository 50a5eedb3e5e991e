"""Reading what there is at one moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

BEGIN = {"postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "sqlite": "BEGIN"}


@contextmanager
def one_moment() -> Iterator[None]:
    """Read only what there is now, whatever people change meanwhile, and keep nobody from changing it.

    `transaction.atomic` would see later changes on PostgreSQL, and keep everybody from writing on SQLite.
    """
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(BEGIN[connection.vendor])
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
