from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scoring", "0003_reference_translations")]

    operations = [
        migrations.AddField(
            model_name="score",
            name="notes",
            field=models.JSONField(blank=True, default=list, help_text="What the value leaves out or cannot say."),
        ),
    ]
