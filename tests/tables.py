"""The tables of all models as migrations would leave them, in a second of a processor instead of twenty.

tests/operations/test_schema.py migrates a database for real and compares the two.
"""

from __future__ import annotations

from pathlib import Path

import django
from django.apps import apps
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunPython
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from tests.servers import ROOT


def create(database: BaseDatabaseWrapper) -> None:
    """Create all tables in an empty database, with the rows that our migrations write, and record all as applied."""
    recorder = MigrationRecorder(database)
    recorder.ensure_schema()
    loader = MigrationLoader(database)
    with database.schema_editor() as editor:
        for model in apps.get_models():
            if model._meta.managed and not model._meta.proxy:
                editor.create_model(model)
    with database.schema_editor() as editor:
        for (app, name), migration in sorted(loader.disk_migrations.items()):
            for operation in migration.operations if _is_ours(app) else ():
                if isinstance(operation, RunPython):
                    operation.code(apps, editor)  # type: ignore[arg-type]
            recorder.record_applied(app, name)
    emit_post_migrate_signal(0, False, database.alias)


def _is_ours(app: str) -> bool:
    """Those of packages have nothing to change in an empty database."""
    return Path(apps.get_app_config(app).path).parent == ROOT


if __name__ == "__main__":
    django.setup()
    create(connection)
