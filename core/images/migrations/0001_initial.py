import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("people", "0001_initial"),
        ("people", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Image",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("original", models.CharField(max_length=200, verbose_name="name in storage")),
                ("format", models.CharField(max_length=8)),
                ("bytes", models.PositiveBigIntegerField()),
                ("width", models.PositiveIntegerField(help_text="pixels, upright")),
                ("height", models.PositiveIntegerField(help_text="pixels, upright")),
                ("title", models.CharField(blank=True, max_length=500)),
                ("author", models.CharField(blank=True, max_length=500)),
                ("licence", models.CharField(blank=True, max_length=200)),
                ("licence_url", models.URLField(blank=True, max_length=500)),
                ("source", models.CharField(blank=True, max_length=1000)),
                ("latitude", models.FloatField(blank=True, help_text="degrees north", null=True)),
                ("longitude", models.FloatField(blank=True, help_text="degrees east", null=True)),
                (
                    "extra",
                    models.JSONField(
                        blank=True, default=dict, help_text="Columns of the manifest that have no field here."
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "sizes_state",
                    models.CharField(
                        choices=[("queued", "Waiting"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="queued",
                        max_length=8,
                    ),
                ),
                ("sizes_lease_until", models.DateTimeField(blank=True, null=True)),
                ("sizes_attempts", models.PositiveSmallIntegerField(default=0)),
                ("sizes_error", models.CharField(blank=True, max_length=500)),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("sizes_state__in", ["queued", "running"])),
                        fields=["sizes_state", "sizes_lease_until"],
                        name="image_sizes_to_make",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("latitude__isnull", True), ("latitude__range", (-90, 90)), _connector="OR"),
                        name="image_latitude_on_earth",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("longitude__isnull", True), ("longitude__range", (-180, 180)), _connector="OR"
                        ),
                        name="image_longitude_on_earth",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Collection",
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
                ("slug", models.SlugField(unique=True)),
                ("name", models.CharField(max_length=120)),
                ("description", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["name", "pk"],
            },
        ),
        migrations.CreateModel(
            name="CollectionImage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="entries", to="images.collection"
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entries", to="images.image"
                    ),
                ),
                ("key", models.CharField(max_length=200)),
                (
                    "file_name",
                    models.CharField(
                        blank=True, help_text="As imported; files of captions may refer to it.", max_length=255
                    ),
                ),
                ("position", models.PositiveIntegerField()),
            ],
            options={
                "ordering": ["collection", "position"],
                "indexes": [
                    models.Index(fields=["collection", "position"], name="collection_image_in_order"),
                    models.Index(fields=["key"], name="collection_image_by_key"),
                    models.Index(fields=["file_name"], name="collection_image_by_file_name"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "image"), name="collection_image_once"),
                    models.UniqueConstraint(fields=("collection", "key"), name="collection_key_once"),
                ],
            },
        ),
        migrations.AddField(
            model_name="collection",
            name="images",
            field=models.ManyToManyField(
                related_name="collections", through="images.CollectionImage", to="images.image"
            ),
        ),
        migrations.CreateModel(
            name="ImportJob",
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
                    "kind",
                    models.CharField(
                        choices=[
                            ("images", "Images"),
                            ("captions", "Captions by a model"),
                            ("items", "Sentences with a gap"),
                            ("refs", "Reference captions"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        help_text="Its managers see the report; without one, only its starter and staff.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="people.project",
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="imports",
                        to="images.collection",
                    ),
                ),
                (
                    "options",
                    models.JSONField(
                        default=dict, help_text="Further arguments of this kind of import, such as model and language."
                    ),
                ),
                ("source_name", models.CharField(max_length=500)),
                ("folder", models.CharField(blank=True, max_length=500)),
                ("error", models.TextField(blank=True)),
                ("total", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="ImportRow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rows", to="images.importjob"
                    ),
                ),
                (
                    "number",
                    models.PositiveIntegerField(help_text="Line of the file, or position among the files, from 1."),
                ),
                ("name", models.CharField(max_length=500)),
                (
                    "outcome",
                    models.CharField(
                        choices=[("added", "Added"), ("already", "Already there"), ("rejected", "Not imported")],
                        max_length=8,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                (
                    "image",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="images.image",
                    ),
                ),
            ],
            options={
                "ordering": ["job", "number"],
                "constraints": [models.UniqueConstraint(fields=("job", "number"), name="import_row_once_per_number")],
            },
        ),
    ]
