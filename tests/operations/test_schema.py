"""The migrations make the tables that the models describe, and what differs in a database is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from core.languages.models import Language
from office.operations.selectors.schema import differences

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

OURS = {"allocation", "annotation", "images", "gapgame", "inference", "languages", "people", "scoring", "sxs_eval"}
IN_POSTGRES = """
    SELECT table_name, format('%s %s %s %s %s', column_name, data_type, character_maximum_length, is_nullable,
                              is_identity)
        FROM information_schema.columns WHERE table_schema = current_schema()
    UNION ALL
    SELECT conrelid::regclass::text, format('%s %s', conname, pg_get_constraintdef(oid))
        FROM pg_constraint WHERE connamespace = current_schema()::regnamespace AND contype <> 'n'
    UNION ALL SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = current_schema()
"""


@pytest.fixture
def migrated(request: Any, tmp_path: Path) -> Iterator[BaseDatabaseWrapper]:
    """Another database, made by the migrations as in an installation."""
    if connection.vendor == "postgresql":
        name = request.getfixturevalue("postgres_url").rpartition("/")[2]
    else:
        name = str(tmp_path / "migrated.sqlite3")
    other = connections["migrated"] = connection.copy(alias="migrated")
    other.settings_dict = {**other.settings_dict, "NAME": name}
    executor = MigrationExecutor(other)
    executor.migrate(executor.loader.graph.leaf_nodes())
    emit_post_migrate_signal(0, False, "migrated")
    yield other
    other.close()
    del connections["migrated"]


def schema_of(database: BaseDatabaseWrapper) -> dict[str, list[str]]:
    """Columns, constraints and indexes of the tables of our apps, by table, as the database writes them."""
    schema: dict[str, list[str]] = {
        model._meta.db_table: []
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label in OURS
    }
    with database.cursor() as cursor:
        if database.vendor == "postgresql":
            cursor.execute(IN_POSTGRES)
            # A dump that was restored writes the same constraint with other casts and brackets.
            rows = [
                (table, re.sub(r"::(?:character varying|text)(?:\[\])?|[()]", "", part))
                for table, part in cursor.fetchall()
            ]
        else:
            cursor.execute("SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
            rows = [(table, part) for table, sql in cursor.fetchall() for part in parts_of(sql)]
    for table, part in rows:
        if table in schema:
            schema[table].append(part)
    return {table: sorted(parts) for table, parts in schema.items()}


def parts_of(sql: str) -> list[str]:
    """A CREATE statement; of a table its columns and constraints one by one, whose order is of no consequence."""
    table = re.fullmatch(r'CREATE TABLE "?\w+"? \((.*)\)', sql, re.DOTALL)
    if not table:
        return [sql]
    parts, depth = [""], 0
    for character in table[1]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


@pytest.mark.long(reason="migrates a database from nothing; `make lint` compares the migrations with the models")
def test_migrations_make_the_tables_that_the_models_describe_with_the_rows_that_tests_begin_with(
    migrated: BaseDatabaseWrapper,
) -> None:
    found, described = schema_of(migrated), schema_of(connection)

    assert len(found) > 50
    assert all(len(parts) > 1 for parts in found.values())
    differing = {table: set(parts) ^ set(described[table]) for table, parts in found.items()}
    assert {table: parts for table, parts in differing.items() if parts} == {}
    assert differences(migrated) == []
    assert rows_of(migrated) == rows_of(connection)


def rows_of(database: BaseDatabaseWrapper) -> dict[str, list[tuple[Any, ...]]]:
    """What migrations write, without keys and times."""
    alias = database.alias
    return {
        "languages": sorted(Language.objects.using(alias).values_list()),
        "permissions": sorted(
            Permission.objects.using(alias).values_list(
                "content_type__app_label", "content_type__model", "codename", "name"
            )
        ),
        "applied": sorted(MigrationRecorder.Migration.objects.using(alias).values_list("app", "name")),
    }


def test_a_migrated_database_does_not_differ() -> None:
    assert differences(connection) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DROP TABLE people_consent", ["missing people_consent"]),
        ("ALTER TABLE people_user RENAME COLUMN reads_english TO english", None),
        ("ALTER TABLE people_user ADD COLUMN old integer NULL", ["unexpected people_user.old"]),
        ("DROP INDEX collection_image_by_key", ["missing collection_image_by_key"]),
    ],
)
def test_what_differs_is_named(change: str, said: list[str] | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(change)

    assert differences(connection) == (said or ["missing people_user.reads_english", "unexpected people_user.english"])


def test_a_constraint_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other way round, as SQLite drops none: the models have one more than the database."""
    item = apps.get_model("annotation", "CaptionItem")
    more = item._meta.constraints[0].clone()
    more.name = "item_of_tomorrow"
    monkeypatch.setattr(item._meta, "constraints", [*item._meta.constraints, more])

    assert differences(connection) == ["missing item_of_tomorrow"]
