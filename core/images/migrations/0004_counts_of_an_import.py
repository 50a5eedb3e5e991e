from typing import Any

from django.db import migrations, models

OUTCOMES = ("added", "already", "rejected")


def count_one_for_each_row(apps: Any, schema_editor: Any) -> None:
    """What was imported before was counted by files and lines."""
    rows = apps.get_model("images", "ImportRow").objects.using(schema_editor.connection.alias)
    for outcome in OUTCOMES:
        rows.filter(outcome=outcome).update(**{outcome: 1})


class Migration(migrations.Migration):
    dependencies = [
        ("images", "0003_attribution_changes_and_what_imports_fill_in"),
    ]

    operations = [
        *(
            migrations.AddField(
                model_name="importrow",
                name=outcome,
                field=models.PositiveIntegerField(
                    db_default=0,
                    default=0,
                    help_text=f"How many files or captions of it have the outcome {outcome}.",
                ),
            )
            for outcome in OUTCOMES
        ),
        migrations.RunPython(count_one_for_each_row, migrations.RunPython.noop, elidable=True),
    ]
