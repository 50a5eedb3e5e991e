import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("images", "0001_initial"),
        ("inference", "0001_initial"),
        ("languages", "0002_seed_the_36_languages"),
        ("people", "0001_initial"),
        ("people", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReferenceSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reference_sets", to="people.project"
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.collection"
                    ),
                ),
                (
                    "language",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="languages.language"
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("imported", "From a file"),
                            ("collected", "Written in this project"),
                            ("translated", "Translated from English"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "source",
                    models.TextField(blank=True, help_text="Where the captions come from, and under which licence."),
                ),
                (
                    "origin",
                    models.CharField(
                        blank=True, help_text="Its source, such as “round 7”; empty for a file.", max_length=64
                    ),
                ),
                ("images", models.PositiveIntegerField(default=0)),
                ("captions", models.PositiveIntegerField(default=0)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("changed_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["project", "language", "name"],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "language", "name"), name="reference_set_named_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("origin", ""), _negated=True),
                        fields=("project", "origin"),
                        name="reference_set_once_per_origin",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["imported", "collected", "translated"])),
                        name="reference_set_kind_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Reference",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "reference_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="references",
                        to="scoring.referenceset",
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.image"),
                ),
                ("position", models.PositiveSmallIntegerField(help_text="Among the captions of the image, from 1.")),
                ("text", models.TextField()),
            ],
            options={
                "ordering": ["reference_set", "image", "position"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("reference_set", "image", "position"), name="reference_once_per_position"
                    ),
                    models.CheckConstraint(condition=models.Q(("text", ""), _negated=True), name="reference_not_empty"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Scoring",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="scorings", to="people.project"
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.captioningmodel"
                    ),
                ),
                (
                    "references",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="scorings", to="scoring.referenceset"
                    ),
                ),
                ("metrics", models.JSONField(default=list)),
                (
                    "tokenizer",
                    models.CharField(
                        choices=[
                            ("whitespace", "Whitespace"),
                            ("ptb", "Penn Treebank (needs Java)"),
                            ("characters", "Characters"),
                            ("icu", "Words by Unicode's rules (ICU)"),
                        ],
                        max_length=10,
                    ),
                ),
                ("normalise", models.BooleanField()),
                (
                    "vectors",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="inference.wordvectorset",
                    ),
                ),
                (
                    "encoder",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="inference.encoder",
                    ),
                ),
                (
                    "english",
                    models.ForeignKey(
                        blank=True,
                        help_text="English references, for CLinRel.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="scoring.referenceset",
                    ),
                ),
                (
                    "english_encoder",
                    models.ForeignKey(
                        blank=True,
                        help_text="The English references' licence, if it differs from that of the captions.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="inference.encoder",
                    ),
                ),
                (
                    "features",
                    models.ForeignKey(
                        blank=True,
                        help_text="Features of the images, for CMedRel.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="inference.embeddingset",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["project", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("model", "references", "tokenizer", "normalise"), name="scoring_once_per_text_version"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("tokenizer__in", ["whitespace", "ptb", "characters", "icu"])),
                        name="scoring_tokenizer_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Pass",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[("queued", "Waiting"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="queued",
                        max_length=8,
                    ),
                ),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                (
                    "scoring",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="passes", to="scoring.scoring"
                    ),
                ),
                ("error", models.TextField(blank=True)),
                ("total", models.PositiveIntegerField(default=0, help_text="Metrics to compute.")),
                ("done", models.PositiveIntegerField(default=0)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("images", models.PositiveIntegerField(default=0, help_text="Images with a caption and a reference.")),
                (
                    "left_out",
                    models.PositiveIntegerField(
                        default=0, help_text="Images with references that lack the model's caption."
                    ),
                ),
                ("image_ids", models.BinaryField(default=bytes)),
                ("captions_digest", models.CharField(blank=True, max_length=64)),
                (
                    "captions_mark",
                    models.CharField(
                        blank=True, help_text="Changes when the model's captions may have changed.", max_length=64
                    ),
                ),
                ("references_digest", models.CharField(blank=True, max_length=64)),
                ("asked_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "passes",
                "ordering": ["scoring", "-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ("queued", "running"))),
                        fields=["state", "lease_until"],
                        name="pass_to_do",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("queued", "running"))),
                        fields=("scoring",),
                        name="pass_one_open_per_scoring",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Score",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "scoring_pass",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="scores", to="scoring.pass"
                    ),
                ),
                ("metric", models.CharField(max_length=20)),
                ("signature", models.TextField()),
                (
                    "value",
                    models.FloatField(
                        help_text="On the reference implementation's scale; none where undefined.", null=True
                    ),
                ),
                ("why_undefined", models.CharField(blank=True, max_length=200)),
                ("values", models.BinaryField(default=bytes)),
                ("sums", models.BinaryField(default=bytes)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["scoring_pass", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("scoring_pass", "metric"), name="score_once_per_metric"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("value__isnull", False), ("why_undefined", "")),
                            models.Q(("value__isnull", True), models.Q(("why_undefined", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="score_has_a_value_or_says_why_not",
                    ),
                ],
            },
        ),
    ]
