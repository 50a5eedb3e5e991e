"""Counting errors of the database, or its absence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from django.core.signals import got_request_exception
from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created


def connect() -> None:
    connection_created.connect(_watch, dispatch_uid="office.operations.signals.database_errors")
    got_request_exception.connect(_no_connection, dispatch_uid="office.operations.signals.database_errors")


def _watch(connection: BaseDatabaseWrapper, **_about: Any) -> None:
    if _count not in connection.execute_wrappers:
        connection.execute_wrappers.append(_count)


def _count(execute: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return execute(*arguments)
    except DatabaseError as error:
        count_error(error)
        raise


def _no_connection(**_about: Any) -> None:
    error = sys.exc_info()[1]
    if isinstance(error, DatabaseError):
        count_error(error)


def count_error(error: DatabaseError) -> None:
    """Count an error once, however often it is handled on its way up."""
    if not getattr(error, "is_counted", False):
        error.is_counted = True  # type: ignore[attr-defined]
        # Most processes count none; metrics read the whole platform.
        from office.operations.services import metrics

        metrics.count_database_error(type(error).__name__)
