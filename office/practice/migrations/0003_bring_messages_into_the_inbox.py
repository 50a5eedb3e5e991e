from typing import Any

from django.db import migrations


def bring_messages_into_the_inbox(apps: Any, editor: Any) -> None:
    """Messages of people who still wait for an answer; each has at most one, by their last try."""
    alias = editor.connection.alias
    attempts = apps.get_model("practice", "PracticeAttempt").objects.using(alias)
    threads, messages = (
        apps.get_model("conversation", name).objects.using(alias) for name in ("ManagerThread", "ThreadMessage")
    )
    waiting = attempts.exclude(message="").filter(passed=False, is_forgiven=False).select_related("practice")
    for attempt in waiting.iterator():
        whose = {"project_id": attempt.practice.project_id, "person_id": attempt.person_id}
        about = {"by_id": attempt.person_id, "language_id": attempt.working_language_id, "origin": "practice"}
        asked = {"asked_at": attempt.finished_at, "is_open": True}
        thread, _is_new = threads.update_or_create(**whose, defaults=asked)
        messages.create(thread=thread, text=attempt.message, at=attempt.finished_at, **about)


class Migration(migrations.Migration):
    dependencies = [
        ("practice", "0002_messages_to_managers"),
        ("conversation", "0006_practice_and_skips_in_inbox"),
    ]

    operations = [
        migrations.RunPython(bring_messages_into_the_inbox, migrations.RunPython.noop, elidable=True),
    ]
