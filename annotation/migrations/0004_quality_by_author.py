from typing import Any

from django.db import migrations


def compute_again(apps: Any, editor: Any) -> None:
    """Figures of verification rounds now say how good the captions of each author are."""
    figures = apps.get_model("annotation", "RoundFigures").objects.using(editor.connection.alias)
    figures.filter(round__kind="verification").update(is_stale=True)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0003_texts_in_languages"),
    ]

    operations = [migrations.RunPython(compute_again, migrations.RunPython.noop)]
