from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def put_comments_into_threads(apps: Any, editor: Any) -> None:
    """Comments that came before can be answered too."""
    threads, messages, reports = (
        apps.get_model("conversation", name).objects.using(editor.connection.alias)
        for name in ("ManagerThread", "ThreadMessage", "ImageReport")
    )
    for report in reports.exclude(comment="").select_related("reported").iterator():
        opened = {"asked_at": report.at, "is_open": False}
        whose = {"project_id": report.reported.project_id, "person_id": report.person_id}
        thread, _is_new = threads.get_or_create(**whose, defaults=opened)
        about = {"image_id": report.reported.image_id, "language_id": report.language_id, "is_of_screen_1": True}
        messages.create(
            thread=thread, report=report, by_id=report.person_id, text=report.comment, at=report.at, **about
        )


class Migration(migrations.Migration):
    dependencies = [
        ("conversation", "0004_report_in_one_language"),
    ]

    operations = [
        migrations.AddField(
            model_name="threadmessage",
            name="report",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="message",
                to="conversation.imagereport",
            ),
        ),
        migrations.RunPython(put_comments_into_threads, migrations.RunPython.noop, elidable=True),
    ]
