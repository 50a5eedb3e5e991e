from typing import Any

from django.db import migrations


def compute_again(apps: Any, editor: Any) -> None:
    """Figures of verification rounds now leave out NOT-ENOUGH-INFO too, and say what an appendix has to."""
    figures = apps.get_model("annotation", "RoundFigures").objects.using(editor.connection.alias)
    figures.filter(round__kind="verification").update(is_stale=True)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0007_releases_with_images"),
    ]

    operations = [migrations.RunPython(compute_again, migrations.RunPython.noop)]
