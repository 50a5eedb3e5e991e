"""Databases of earlier releases: their migrations and rows, in one JSON file each.

A file is written once, by the code of its release (`make freeze VERSION=0.1.0`), and never changes afterwards.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps
from django.apps.registry import Apps
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from tools.scripts.checks.sources import own_apps

FOLDER = Path(__file__).parent
MIGRATIONS = FOLDER / "migrations.sha256"
Row = dict[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """`targets` are the last migrations of each app, `rows` those of each model, `known` the values in addresses."""

    targets: Sequence[tuple[str, str]]
    rows: Mapping[str, Sequence[Row]]
    known: Mapping[str, Sequence[object]]
    people: Sequence[int]

    @classmethod
    def read(cls, path: Path) -> Snapshot:
        stored = json.loads(gzip.decompress(path.read_bytes()))
        return cls([(app, name) for app, name in stored.pop("targets")], **stored)

    def write(self, path: Path) -> None:
        text = json.dumps(vars(self), ensure_ascii=False, sort_keys=True, default=str)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))


def take(known: Mapping[str, Sequence[object]], people: Sequence[int]) -> Snapshot:
    """Read all rows of the database as it is now."""
    targets = sorted(MigrationLoader(connection).graph.leaf_nodes())
    rows = {model._meta.label: [_stored(row) for row in _rows_of(model)] for model in _models(apps)}
    return Snapshot(targets, {label: found for label, found in rows.items() if found}, known, people)


def restore(snapshot: Snapshot, database: BaseDatabaseWrapper) -> None:
    """Make the tables of the release in an empty database, and fill them."""
    executor = MigrationExecutor(database)
    state = executor.migrate(list(snapshot.targets))
    old = {model._meta.label: model for model in _models(state.apps)}
    # Some rows refer to later ones. PostgreSQL checks that when the transaction ends, SQLite in `check_constraints`.
    with database.constraint_checks_disabled(), transaction.atomic(database.alias):
        for model in old.values():
            model._base_manager.using(database.alias).all()._raw_delete(database.alias)
        for label, rows in snapshot.rows.items():
            model = old[label]
            fields = {field.attname: field for field in model._meta.concrete_fields}
            made = [model(**{name: _read(fields[name], value) for name, value in row.items()}) for row in rows]
            model._base_manager.using(database.alias).bulk_create(made, batch_size=500)
    database.check_constraints()
    with database.cursor() as cursor:
        for sql in database.ops.sequence_reset_sql(no_style(), list(old.values())):
            cursor.execute(sql)


def digests() -> dict[str, str]:
    """Return the SHA-256 of each migration, by the label of its app and its name."""
    return {
        f"{app.label}/migrations/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for app in sorted(own_apps(), key=lambda app: app.label)
        for path in sorted(Path(app.path).glob("migrations/[0-9]*.py"))
    }


def frozen_digests() -> dict[str, str]:
    """Return what `digests` was when a release was last made."""
    lines = MIGRATIONS.read_text(encoding="utf-8").splitlines()
    return {path: digest for digest, path in (line.split() for line in lines)}


def freeze_migrations() -> None:
    lines = [f"{digest}  {path}\n" for path, digest in digests().items()]
    MIGRATIONS.write_text("".join(lines), encoding="utf-8")


def _models(registry: Apps) -> list[type[models.Model]]:
    return [model for model in registry.get_models(include_auto_created=True) if model._meta.managed]


def _rows_of(model: type[models.Model]) -> Any:
    return model._base_manager.order_by("pk").iterator(chunk_size=1000)


def _stored(row: models.Model) -> Row:
    return {
        field.attname: _written(field, getattr(row, field.attname))
        for field in row._meta.concrete_fields
        if not field.generated
    }


def _written(field: Any, value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str, list, dict)):
        return value
    return field.value_to_string(_Holder(field.attname, value))


def _read(field: Any, value: Any) -> Any:
    return value if value is None or isinstance(field, models.JSONField) else field.to_python(value)


class _Holder:
    """What `value_to_string` reads a value from."""

    def __init__(self, name: str, value: Any) -> None:
        setattr(self, name, value)
