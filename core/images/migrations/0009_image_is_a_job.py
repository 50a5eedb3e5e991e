from django.db import migrations, models


def rename_check(apps, schema_editor):
    """Name the check of attempts after its column, as in a new database; SQLite's checks have no names."""
    if schema_editor.connection.vendor == "postgresql":
        old, new = "images_image_sizes_attempts_check", "images_image_attempts_check"
        schema_editor.execute(f"ALTER TABLE images_image RENAME CONSTRAINT {old} TO {new}")


class Migration(migrations.Migration):
    """The columns of a job have the names that all jobs have."""

    dependencies = [("images", "0008_no_fetching")]

    operations = [
        migrations.RemoveIndex("image", "image_sizes_to_make"),
        migrations.RenameField("image", "sizes_state", "state"),
        migrations.RenameField("image", "sizes_lease_until", "lease_until"),
        migrations.RenameField("image", "sizes_attempts", "attempts"),
        migrations.RunPython(rename_check, migrations.RunPython.noop, elidable=True),
        migrations.RenameField("image", "sizes_error", "error"),
        migrations.AlterField("image", "error", models.TextField(blank=True)),
        migrations.AddField("image", "finished_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddIndex(
            "image",
            models.Index(
                condition=models.Q(("state__in", ["queued", "running"])),
                fields=["state", "lease_until"],
                name="image_sizes_to_make",
            ),
        ),
    ]
