"""Differences between the models and the database, whatever its list of applied migrations says."""

from __future__ import annotations

import re

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

_NAMED_IN_SQLITE = re.compile(r'CONSTRAINT "([^"]+)"')


def differences(connection: BaseDatabaseWrapper) -> list[str]:
    """Return how the database differs from the models: tables, columns, constraints and indexes by name.

    Missing parts are named as in "missing annotation_captionitem.rating" or "missing item_rating_known"; a column that
    no model has, as in "unexpected annotation_captionitem.old". An empty list means no difference.

    Raises DatabaseError if the database does not answer.
    """
    differences: list[str] = []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        named = _constraints_and_indexes(connection, cursor)
        models = (model for model in apps.get_models(include_auto_created=True) if model._meta.managed)
        for meta in sorted((model._meta for model in models if not model._meta.proxy), key=lambda meta: meta.db_table):
            if meta.db_table not in tables:
                differences.append(f"missing {meta.db_table}")
                continue
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(meta.db_table)} WHERE 1 = 0")  # noqa: S608
            columns = {column[0] for column in cursor.description or ()}
            expected = {str(field.column) for field in meta.local_concrete_fields}
            differences += [f"missing {meta.db_table}.{column}" for column in sorted(expected - columns)]
            differences += [f"unexpected {meta.db_table}.{column}" for column in sorted(columns - expected)]
            names = {str(each.name) for each in (*meta.constraints, *meta.indexes)}
            differences += [f"missing {name}" for name in sorted(names - named)]
    return differences


def _constraints_and_indexes(connection: BaseDatabaseWrapper, cursor: CursorWrapper) -> set[str]:
    if connection.vendor == "postgresql":
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE connamespace = current_schema()::regnamespace "
            "UNION ALL SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()"
        )
        return {name for (name,) in cursor.fetchall()}
    cursor.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {each for name, sql in cursor.fetchall() for each in (name, *_NAMED_IN_SQLITE.findall(sql))}
