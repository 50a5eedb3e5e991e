from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sxs_eval", "0003_texts_in_languages"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="excluded_at",
            field=models.DateTimeField(
                blank=True, help_text="Since when it is left out of results; empty while it counts.", null=True
            ),
        ),
        migrations.AddField(
            model_name="comparison",
            name="exclusion_reason",
            field=models.CharField(blank=True, default="", max_length=500),
        ),
    ]
