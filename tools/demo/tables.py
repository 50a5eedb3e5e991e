"""A new database: all tables at once, without the steps that an older one takes."""

from __future__ import annotations

from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management.sql import emit_post_migrate_signal
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunPython
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def create_file(database: BaseDatabaseWrapper) -> None:
    """Create the SQLite database with all tables, or nothing."""
    name = Path(database.settings_dict["NAME"])
    new = name.with_name(f"{name.name}.new")
    new.unlink(missing_ok=True)
    database.close()
    database.settings_dict["NAME"] = new
    try:
        create_tables(database)
    finally:
        # With the last connection SQLite writes its log into the file.
        database.close()
        database.settings_dict["NAME"] = name
    new.replace(name)


def create_tables(database: BaseDatabaseWrapper) -> None:
    """Create all tables in an empty database, with the rows that our migrations write, and record all as applied.

    That is what migrations leave, in one second of a processor instead of twenty; tests/operations/test_schema.py
    migrates a database and compares the two.
    """
    recorder = MigrationRecorder(database)
    recorder.ensure_schema()
    loader = MigrationLoader(database)
    with database.schema_editor() as editor:
        for model in apps.get_models():
            if model._meta.managed and not model._meta.proxy:
                editor.create_model(model)
    base = Path(settings.BASE_DIR)
    own = {app.label for app in apps.get_app_configs() if (base / app.name.replace(".", "/")).is_dir()}
    with database.schema_editor() as editor:
        for (app, migration_name), migration in sorted(loader.disk_migrations.items()):
            # Those of packages have nothing to change in an empty database.
            for operation in migration.operations if app in own else ():
                # What is elidable concerns rows that were there before, of models that may be gone.
                if isinstance(operation, RunPython) and not operation.elidable:
                    operation.code(apps, editor)  # type: ignore[arg-type]
            recorder.record_applied(app, migration_name)
    emit_post_migrate_signal(0, False, database.alias)
