from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0004_quality_by_author"),
    ]

    operations = [
        migrations.AddField(
            model_name="captionitem",
            name="is_autosaved",
            field=models.BooleanField(
                default=False,
                help_text="Whether its text was saved while being typed, and its writer has not confirmed it since.",
            ),
        ),
    ]
