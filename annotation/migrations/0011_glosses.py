import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0010_note_pasted_text_and_absences"),
        ("inference", "0008_captions_by_import"),
        ("languages", "0002_seed_the_36_languages"),
        ("people", "0009_texts_in_all_languages"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Gloss",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.CharField(max_length=200)),
                ("text", models.TextField(blank=True)),
                ("problem", models.TextField(blank=True)),
                ("made_at", models.DateTimeField()),
                (
                    "caption",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="gloss", to="annotation.caption"
                    ),
                ),
                (
                    "translator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.translator"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "glosses",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("text", ""), models.Q(("problem", ""), _negated=True)),
                            models.Q(models.Q(("text", ""), _negated=True), ("problem", "")),
                            _connector="OR",
                        ),
                        name="gloss_or_problem",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GlossRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(default="queued", max_length=8)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("keeps_up", models.BooleanField(default=False)),
                ("described", models.JSONField(blank=True, default=dict)),
                ("queue", models.CharField(max_length=40)),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("traceback", models.TextField(blank=True)),
                ("asked_at", models.DateTimeField()),
                (
                    "asked_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "language",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="languages.language"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="people.project"
                    ),
                ),
                (
                    "translator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.translator"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "language"), name="gloss_request_once_per_language")
                ],
            },
        ),
    ]
