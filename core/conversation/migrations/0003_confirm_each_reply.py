from typing import Any

from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def keep_what_was_confirmed(apps: Any, editor: Any) -> None:
    """Replies up to the time that a thread had been read to count as read."""
    threads, messages = (
        apps.get_model("conversation", name).objects.using(editor.connection.alias)
        for name in ("ManagerThread", "ThreadMessage")
    )
    read_at = Subquery(threads.filter(pk=OuterRef("thread")).values("read_at"))
    messages.filter(is_reply=True, at__lte=read_at).update(read_at=read_at)


class Migration(migrations.Migration):
    dependencies = [
        ("conversation", "0002_ask_managers"),
    ]

    operations = [
        migrations.AddField(
            model_name="threadmessage",
            name="read_at",
            field=models.DateTimeField(
                blank=True, help_text="When the person confirmed that they read this reply.", null=True
            ),
        ),
        migrations.RunPython(keep_what_was_confirmed, migrations.RunPython.noop, elidable=True),
        migrations.RemoveField(model_name="managerthread", name="read_at"),
    ]
