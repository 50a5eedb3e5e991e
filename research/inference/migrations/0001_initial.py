import django.db.models.deletion
import django.db.models.expressions
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("images", "0001_initial"),
        ("languages", "0002_seed_the_36_languages"),
        ("people", "0001_initial"),
        ("people", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Translator",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="people.project",
                    ),
                ),
                (
                    "is_shared",
                    models.BooleanField(
                        default=False,
                        help_text="Managers and researchers of every project can use it.",
                        verbose_name="shared with all",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("description", models.TextField(blank=True)),
                ("options", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "backend",
                    models.CharField(
                        help_text="A name of research.inference.backends.registry.translators().", max_length=40
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        help_text="Folder, model of the hub with its commit, or endpoint.", max_length=500
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("project", "name"), name="translator_named_once_per_project"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_shared", True)),
                        fields=("name",),
                        name="translator_named_once_among_shared",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_shared", False), ("project", None)),
                        fields=("created_by", "name"),
                        name="translator_named_once_per_maker",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CaptioningModel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="people.project",
                    ),
                ),
                (
                    "is_shared",
                    models.BooleanField(
                        default=False,
                        help_text="Managers and researchers of every project can use it.",
                        verbose_name="shared with all",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("description", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "backend",
                    models.CharField(
                        default="imported",
                        help_text="A name of research.inference.backends.registry.backends().",
                        max_length=40,
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        blank=True, help_text="Folder, model of the hub with its commit, or endpoint.", max_length=500
                    ),
                ),
                ("options", models.JSONField(blank=True, default=dict, help_text="As the backend understands them.")),
                (
                    "is_pivot",
                    models.BooleanField(
                        default=False,
                        help_text="Whether it writes an English stabiliser and a separator before each caption.",
                    ),
                ),
                (
                    "english_model",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="translated_models",
                        to="inference.captioningmodel",
                    ),
                ),
                (
                    "translator",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="inference.translator",
                    ),
                ),
                (
                    "variant_of",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="variants",
                        to="inference.captioningmodel",
                    ),
                ),
                ("decoding", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["name"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("project", "name"), name="captioning_model_named_once_per_project"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_shared", True)),
                        fields=("name",),
                        name="captioning_model_named_once_among_shared",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_shared", False), ("project", None)),
                        fields=("created_by", "name"),
                        name="captioning_model_named_once_per_maker",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("backend", "translated"),
                                ("english_model__isnull", False),
                                ("translator__isnull", False),
                            ),
                            models.Q(
                                models.Q(("backend", "translated"), _negated=True),
                                ("english_model__isnull", True),
                                ("translator__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="captioning_model_translated_from_and_by",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("variant_of__isnull", False)),
                        fields=("variant_of", "decoding"),
                        name="captioning_model_variant_once_per_decoding",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Encoder",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="people.project",
                    ),
                ),
                (
                    "is_shared",
                    models.BooleanField(
                        default=False,
                        help_text="Managers and researchers of every project can use it.",
                        verbose_name="shared with all",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("description", models.TextField(blank=True)),
                ("options", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "backend",
                    models.CharField(
                        help_text="A name of research.inference.backends.registry.encoders().", max_length=40
                    ),
                ),
                ("source", models.CharField(blank=True, max_length=500)),
                ("signature", models.CharField(blank=True, max_length=120)),
                ("space", models.CharField(blank=True, max_length=120)),
                ("dimensions", models.PositiveIntegerField(blank=True, null=True)),
            ],
            options={
                "ordering": ["name"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("project", "name"), name="encoder_named_once_per_project"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_shared", True)),
                        fields=("name",),
                        name="encoder_named_once_among_shared",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_shared", False), ("project", None)),
                        fields=("created_by", "name"),
                        name="encoder_named_once_per_maker",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="people.project",
                    ),
                ),
                (
                    "is_shared",
                    models.BooleanField(
                        default=False,
                        help_text="Managers and researchers of every project can use it.",
                        verbose_name="shared with all",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="inference.captioningmodel",
                    ),
                ),
                (
                    "encoder",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="inference.encoder",
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="images.collection"
                    ),
                ),
                (
                    "decoding",
                    models.JSONField(blank=True, default=dict, help_text="Of a captioning run; empty for vectors."),
                ),
                (
                    "queue",
                    models.CharField(help_text="The Celery queue of the workers that can run it.", max_length=40),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Waiting for a worker"),
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=9,
                    ),
                ),
                ("error", models.TextField(blank=True)),
                (
                    "batch_size",
                    models.PositiveIntegerField(default=8, help_text="Images at once; halved where memory runs out."),
                ),
                ("total", models.PositiveIntegerField(default=0)),
                ("already", models.PositiveIntegerField(default=0, help_text="There before the run began.")),
                ("done", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "nudged_at",
                    models.DateTimeField(blank=True, help_text="When workers were last notified of it.", null=True),
                ),
                ("created_at", models.DateTimeField()),
                ("languages", models.ManyToManyField(blank=True, related_name="+", to="languages.language")),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ("queued", "running"))),
                        fields=["state", "nudged_at"],
                        name="run_to_do",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("encoder__isnull", True), ("model__isnull", False)),
                            models.Q(("encoder__isnull", False), ("model__isnull", True)),
                            _connector="OR",
                        ),
                        name="run_of_a_model_or_an_encoder",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "paused", "done", "failed", "cancelled"])
                        ),
                        name="run_state_known",
                    ),
                    models.CheckConstraint(condition=models.Q(("batch_size__gte", 1)), name="run_batch_not_empty"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "total__gte",
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.expressions.CombinedExpression(
                                        models.F("already"), "+", models.F("done")
                                    ),
                                    "+",
                                    models.F("failed"),
                                ),
                            )
                        ),
                        name="run_counts_nothing_twice",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Chunk",
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
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="chunks", to="inference.run"
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("image_ids", models.BinaryField()),
                ("holder", models.CharField(blank=True, help_text="The worker's name.", max_length=200)),
                (
                    "attempts",
                    models.PositiveSmallIntegerField(default=0, help_text="Starts since the last progress was stored."),
                ),
                (
                    "vectors",
                    models.PositiveIntegerField(default=0, help_text="How many were stored, where vectors are made."),
                ),
            ],
            options={
                "ordering": ["run", "position"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ("queued", "running"))),
                        fields=["run", "position"],
                        name="chunk_to_do",
                    )
                ],
                "constraints": [models.UniqueConstraint(fields=("run", "position"), name="chunk_once_per_position")],
            },
        ),
        migrations.CreateModel(
            name="RunFailure",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="failures", to="inference.run"
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.image"),
                ),
                (
                    "language",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="languages.language",
                    ),
                ),
                ("reason", models.TextField()),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ["run", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "image", "language"), name="run_failure_once_per_language"),
                    models.UniqueConstraint(
                        condition=models.Q(("language__isnull", True)),
                        fields=("run", "image"),
                        name="run_failure_once_without_language",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RunEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="events", to="inference.run"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("worker", models.CharField(blank=True, max_length=200)),
                ("is_warning", models.BooleanField(default=False)),
                ("message", models.TextField()),
                ("traceback", models.TextField(blank=True, help_text="Where the model's program failed.")),
            ],
            options={
                "ordering": ["run", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="Host and process.", max_length=200, unique=True)),
                ("queues", models.CharField(blank=True, max_length=200)),
                ("device", models.CharField(blank=True, max_length=200)),
                (
                    "software",
                    models.CharField(blank=True, help_text="Versions, or what is not installed.", max_length=200),
                ),
                ("memory", models.PositiveBigIntegerField(blank=True, help_text="bytes of the process", null=True)),
                (
                    "device_memory",
                    models.PositiveBigIntegerField(blank=True, help_text="bytes used on the device", null=True),
                ),
                ("device_memory_total", models.PositiveBigIntegerField(blank=True, help_text="bytes", null=True)),
                ("device_busy", models.FloatField(blank=True, help_text="share of the last minute, 0 to 1", null=True)),
                ("rate", models.FloatField(blank=True, help_text="captions or vectors per second", null=True)),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="workers",
                        to="inference.run",
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="ModelCaption",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="captions",
                        to="inference.captioningmodel",
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="model_captions", to="images.image"
                    ),
                ),
                (
                    "language",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="languages.language"
                    ),
                ),
                ("text", models.TextField()),
                (
                    "stabiliser",
                    models.TextField(
                        blank=True, help_text="The English words a pivot-stabilised model wrote before it."
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="captions",
                        to="inference.run",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("model", "image", "language"), name="model_caption_once"),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="model_caption_not_empty"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Stabiliser",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.captioningmodel"
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.image"),
                ),
                ("text", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("model", "image"), name="stabiliser_once_per_image"),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="stabiliser_not_empty"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Trial",
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
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trials",
                        to="inference.captioningmodel",
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="images.image",
                    ),
                ),
                (
                    "upload",
                    models.CharField(
                        blank=True, help_text="Name in storage, if it is not an image of a collection.", max_length=200
                    ),
                ),
                ("decoding", models.JSONField(default=dict)),
                ("results", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("worker", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("languages", models.ManyToManyField(related_name="+", to="languages.language")),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("image__isnull", False), ("upload", "")),
                            models.Q(("image__isnull", True), models.Q(("upload", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="trial_of_an_image_or_an_upload",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="EmbeddingSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "encoder",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sets", to="inference.encoder"
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="embeddings", to="inference.run"
                    ),
                ),
                (
                    "captions_of",
                    models.ForeignKey(
                        blank=True,
                        help_text="The model whose captions were encoded; empty if images were.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="inference.captioningmodel",
                    ),
                ),
                (
                    "language",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="languages.language",
                    ),
                ),
                (
                    "precision",
                    models.CharField(
                        choices=[("float16", "16 bits per number"), ("float32", "32 bits per number")],
                        default="float16",
                        max_length=7,
                    ),
                ),
                ("dimensions", models.PositiveIntegerField(blank=True, null=True)),
                ("rows", models.PositiveIntegerField(default=0)),
                (
                    "file",
                    models.CharField(blank=True, help_text="Name in storage, once it is complete.", max_length=200),
                ),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("captions_of__isnull", True), ("language__isnull", True)),
                            models.Q(("captions_of__isnull", False), ("language__isnull", False)),
                            _connector="OR",
                        ),
                        name="embedding_set_of_images_or_of_captions",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("precision__in", ["float16", "float32"])),
                        name="embedding_set_precision_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WordVectorSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=120)),
                (
                    "language",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="languages.language"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("table", "table of words"), ("encoder", "model, for any word")], max_length=7
                    ),
                ),
                ("dimensions", models.PositiveIntegerField()),
                ("words", models.PositiveIntegerField(help_text="empty for a model, which takes any word", null=True)),
                ("signature", models.CharField(max_length=64, unique=True)),
                ("source", models.TextField(help_text="source and licence")),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["name", "language"],
                "constraints": [
                    models.UniqueConstraint(fields=("name", "language"), name="word_vectors_named_once_per_language"),
                    models.CheckConstraint(
                        condition=models.Q(("dimensions__gte", 1)), name="word_vectors_have_dimensions"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "table"), ("words__gte", 1), ("words__isnull", False)),
                            models.Q(("kind", "encoder"), ("words__isnull", True)),
                            _connector="OR",
                        ),
                        name="word_vectors_of_a_table_are_counted",
                    ),
                ],
            },
        ),
    ]
