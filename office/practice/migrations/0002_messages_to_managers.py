from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("practice", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="practiceattempt",
            name="message",
            field=models.TextField(
                blank=True, help_text="What the person wrote to the managers, having no tries left."
            ),
        ),
    ]
