from django.db import migrations, models


class Migration(migrations.Migration):
    """A delivery is due as e-mails are."""

    dependencies = [("people", "0005_project_lifecycle")]

    operations = [
        migrations.RemoveIndex("delivery", "delivery_due"),
        migrations.RenameField("delivery", "next_at", "due_at"),
        migrations.AlterField(
            "delivery",
            "due_at",
            models.DateTimeField(help_text="Not to be sent before; if it is being sent, when that began."),
        ),
        migrations.AddIndex(
            "delivery", models.Index(condition=models.Q(("state", "waiting")), fields=["due_at"], name="delivery_due")
        ),
    ]
