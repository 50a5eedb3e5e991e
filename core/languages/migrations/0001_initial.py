import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Language",
            fields=[
                ("tag", models.CharField(max_length=35, primary_key=True, serialize=False, verbose_name="BCP-47 tag")),
                ("english_name", models.CharField(max_length=80)),
                ("own_name", models.CharField(max_length=80)),
                (
                    "direction",
                    models.CharField(
                        choices=[("ltr", "left to right"), ("rtl", "right to left")], default="ltr", max_length=3
                    ),
                ),
                ("spaced", models.BooleanField(default=True, verbose_name="spaces separate words")),
                (
                    "scripts",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="ISO 15924 codes of the scripts it is written in, such as Latn; empty: not checked.",
                    ),
                ),
            ],
            options={
                "ordering": ["english_name"],
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("tag"), name="language_tag_unique_whatever_case"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("direction__in", ["ltr", "rtl"])), name="language_direction_known"
                    ),
                ],
            },
        ),
    ]
