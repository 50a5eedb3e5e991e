"""Put the 36 languages into the table.

The rows come from languages/rules/registry.py, which is pure data: the list exists once, and a new installation gets
it as it is now. Who changes the registry adds a migration for installations that are there already; a test compares
the two.
"""

from django.db import migrations

from core.languages.rules.registry import LANGUAGES


def seed(apps, schema_editor):
    language = apps.get_model("languages", "Language")
    language.objects.using(schema_editor.connection.alias).bulk_create(
        [
            language(
                tag=entry.tag,
                english_name=entry.english_name,
                own_name=entry.own_name,
                direction=entry.direction,
                spaced=entry.spaced,
                scripts=list(entry.scripts),
            )
            for entry in LANGUAGES
        ],
        # The way back leaves them, as other rows may refer to them.
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    dependencies = [("languages", "0001_initial")]

    operations = [migrations.RunPython(seed, migrations.RunPython.noop)]
