import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("images", "0001_initial"),
        ("people", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="is_shared",
            field=models.BooleanField(
                default=False,
                help_text="Managers and researchers of every project may use it.",
                verbose_name="shared with all",
            ),
        ),
        migrations.AddField(
            model_name="collection",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="people.project",
            ),
        ),
        migrations.AddField(
            model_name="importjob",
            name="project",
            field=models.ForeignKey(
                blank=True,
                help_text="For which it is done, and whose managers see the report; none: who began it, and staff.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="people.project",
            ),
        ),
    ]
