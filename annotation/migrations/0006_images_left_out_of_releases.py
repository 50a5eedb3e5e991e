from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0005_autosaved_captions"),
    ]

    operations = [
        migrations.AddField(
            model_name="release",
            name="images_left_out",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="Images that were left out of results when it was requested: collection and SHA-256 of each.",
            ),
        ),
    ]
