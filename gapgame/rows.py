"""Rows for the busiest pages, in plain SQL: building the query in Django takes longer than running it."""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import Model

M = TypeVar("M", bound=Model)


def rows(model: type[M], where: str, *values: Any, order: str = "", is_locked: bool = False) -> list[M]:
    """Return the rows for which `where` is true, with `values` for its "%s".

    `is_locked` locks them until the transaction ends; on SQLite the transaction itself is the lock.
    """
    query = f"SELECT * FROM {connection.ops.quote_name(model._meta.db_table)} WHERE {where}"  # noqa: S608
    if order:
        query += f" ORDER BY {order}"
    if is_locked and connection.features.has_select_for_update:
        query += f" {connection.ops.for_update_sql(no_key=True)}"
    return list(model._default_manager.raw(query, [as_stored(value) for value in values]))


def row(model: type[M], key: Any) -> M:
    """Return the row with this primary key, as it is now.

    Raises
    ------
    Model.DoesNotExist
    """
    matching = rows(model, "id = %s", key)
    if not matching:
        raise model.DoesNotExist  # type: ignore[attr-defined]  # known of single models only
    return matching[0]


def count_of(model: type[Model], where: str, *values: Any, limit: int | None = None) -> int:
    """Count the rows for which `where` is true, up to `limit`."""
    table = connection.ops.quote_name(model._meta.db_table)
    query = f"SELECT COUNT(*) FROM {table} WHERE {where}"  # noqa: S608
    if limit is not None:
        query = f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} WHERE {where} LIMIT {limit:d}) AS counted"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(query, [as_stored(value) for value in values])
        return int(cursor.fetchone()[0])


def as_stored(value: Any) -> Any:
    """Convert a UUID for SQLite, which stores it as 32 hexadecimal digits."""
    return value.hex if isinstance(value, UUID) and not connection.features.has_native_uuid_field else value
