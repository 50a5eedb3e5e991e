from typing import Any, ClassVar

import django.db.models.deletion
from django.db import migrations, models


def leave_room_in_pages(apps: Any, schema_editor: Any) -> None:
    """Let PostgreSQL put the new version of a task beside the old one, without new entries in its indexes."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE allocation_task SET (fillfactor = 45)")


def fill_pages(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE allocation_task RESET (fillfactor)")


class Migration(migrations.Migration):
    dependencies: ClassVar[list[Any]] = [("allocation", "0001_initial")]
    operations: ClassVar[list[Any]] = [
        # Before the column: adding it writes the table anew, with room in each page.
        migrations.RunPython(leave_room_in_pages, fill_pages),
        migrations.RemoveIndex(model_name="task", name="task_open_in_order"),
        migrations.AddField(
            model_name="task",
            name="is_open",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Q(("places_taken__lt", models.F("places"))),
                output_field=models.BooleanField(),
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(fields=["pool", "is_open", "shuffle_key"], name="task_open_in_order"),
        ),
        migrations.AlterField(
            model_name="task",
            name="pool",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="tasks",
                to="allocation.pool",
            ),
        ),
    ]
