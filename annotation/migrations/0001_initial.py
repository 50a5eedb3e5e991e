import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("allocation", "0001_initial"),
        ("images", "0001_initial"),
        ("inference", "0001_initial"),
        ("languages", "0002_seed_the_36_languages"),
        ("people", "0001_initial"),
        ("people", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Guidelines",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="guidelines", to="people.project"
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("rating", models.TextField(help_text="Markdown")),
                ("writing", models.TextField(help_text="Markdown")),
                ("note", models.TextField(blank=True, help_text="What changed and why, for the annotators.")),
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
                "ordering": ["project", "version"],
                "constraints": [models.UniqueConstraint(fields=("project", "version"), name="guidelines_version_once")],
            },
        ),
        migrations.CreateModel(
            name="GuidelineExample",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "guidelines",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="examples", to="annotation.guidelines"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "image",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.image"),
                ),
                (
                    "language",
                    models.ForeignKey(
                        help_text="Of the caption.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="languages.language",
                    ),
                ),
                ("caption", models.TextField()),
                (
                    "level",
                    models.CharField(
                        choices=[
                            ("EXCELLENT", "Excellent"),
                            ("GOOD", "Good"),
                            ("MEDIUM", "Medium"),
                            ("BAD", "Bad"),
                            ("NOT-ENOUGH-INFO", "Not enough info"),
                        ],
                        max_length=15,
                    ),
                ),
                ("why", models.TextField(blank=True, help_text="Markdown")),
            ],
            options={
                "ordering": ["guidelines", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("guidelines", "position"), name="example_one_per_position"),
                    models.CheckConstraint(
                        condition=models.Q(("level__in", ["EXCELLENT", "GOOD", "MEDIUM", "BAD", "NOT-ENOUGH-INFO"])),
                        name="example_level_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("caption", ""), _negated=True), name="example_caption_not_empty"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Round",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rounds", to="people.project"
                    ),
                ),
                (
                    "language",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="languages.language"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("pilot", "Pilot"), ("main", "Main"), ("verification", "Verification")],
                        default="main",
                        max_length=12,
                    ),
                ),
                (
                    "number",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="Among the rounds of its kind in the language."
                    ),
                ),
                (
                    "verifies",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="verifications",
                        to="annotation.round",
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.collection"
                    ),
                ),
                (
                    "pool",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="round", to="allocation.pool"
                    ),
                ),
                (
                    "guidelines",
                    models.ForeignKey(
                        help_text="Shown with new batches.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.guidelines",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("planned", "Not open yet"),
                            ("open", "Open"),
                            ("closed", "Closed, not decided"),
                            ("accepted", "Accepted"),
                            ("rejected", "Rejected"),
                            ("skipped", "Skipped"),
                        ],
                        default="open",
                        max_length=8,
                    ),
                ),
                (
                    "sample_size",
                    models.PositiveIntegerField(
                        blank=True, help_text="How many images are drawn by the seed; empty for all.", null=True
                    ),
                ),
                (
                    "needs_qualification",
                    models.BooleanField(
                        default=False,
                        help_text="Whether only annotators whom a manager qualified in the language get batches.",
                    ),
                ),
                (
                    "seed",
                    models.BigIntegerField(
                        help_text="For the sample, the order of the images and the choice among models."
                    ),
                ),
                (
                    "awaits_tasks",
                    models.BooleanField(
                        default=False, help_text="Whether background work still has to look for images without a task."
                    ),
                ),
                ("source", models.TextField(blank=True, help_text="For captions from a file: its source and licence.")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("reason", models.TextField(blank=True, help_text="Why the round was accepted, rejected or skipped.")),
                (
                    "captioners",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Whose English captions are rated.",
                        related_name="+",
                        to="inference.captioningmodel",
                    ),
                ),
            ],
            options={
                "ordering": ["project", "language", "kind", "number"],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "language", "kind", "number"), name="round_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["planned", "open", "closed", "accepted", "rejected", "skipped"])
                        ),
                        name="round_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "verification"), ("verifies__isnull", False)),
                            models.Q(models.Q(("kind", "verification"), _negated=True), ("verifies__isnull", True)),
                            _connector="OR",
                        ),
                        name="round_verifies_another",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "skipped"), _negated=True),
                        fields=("verifies",),
                        name="round_verified_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ("accepted", "rejected", "skipped")), _negated=True),
                            ("decided_at__isnull", False),
                            _connector="OR",
                        ),
                        name="round_decision_dated",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "skipped"), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="round_skipped_for_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Tally",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tallies", to="annotation.round"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("batches", models.PositiveIntegerField(default=0)),
                ("captions", models.PositiveIntegerField(default=0)),
                ("late", models.PositiveIntegerField(default=0)),
                ("rating_ms", models.PositiveBigIntegerField(default=0)),
                ("writing_ms", models.PositiveBigIntegerField(default=0)),
                ("words", models.PositiveBigIntegerField(default=0)),
                ("characters", models.PositiveBigIntegerField(default=0)),
                ("ratings", models.JSONField(default=dict, help_text="How many of each level were given.")),
                ("warnings", models.JSONField(default=dict, help_text="How many of each soft check were overridden.")),
                (
                    "lengths",
                    models.JSONField(
                        default=dict, help_text="Captions by characters, in steps of ten: {“40”: 7} is 40–49."
                    ),
                ),
                ("days", models.JSONField(default=dict, help_text="Captions by day in UTC: {“2026-11-21”: 15}.")),
                ("last_at", models.DateTimeField(blank=True, null=True)),
                (
                    "revision",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Raised with every change, so that their sum changes too."
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("round", "person"), name="tally_once_per_person_and_round")
                ],
            },
        ),
        migrations.CreateModel(
            name="RoundFigures",
            fields=[
                (
                    "round",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="figures",
                        serialize=False,
                        to="annotation.round",
                    ),
                ),
                ("is_stale", models.BooleanField(default=True)),
                ("wanted", models.PositiveIntegerField(default=0, help_text="Places of all tasks.")),
                ("tasks", models.PositiveIntegerField(default=0)),
                ("figures", models.JSONField(default=dict)),
                (
                    "revision",
                    models.PositiveBigIntegerField(
                        default=0, help_text="The sum of the tallies' revisions when it was computed."
                    ),
                ),
                ("computed_at", models.DateTimeField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="CaptionTask",
            fields=[
                (
                    "task",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="caption_task",
                        serialize=False,
                        to="allocation.task",
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tasks", to="annotation.round"
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.image"),
                ),
                (
                    "english",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.modelcaption"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("round", "image"), name="caption_task_once_per_image")],
            },
        ),
        migrations.CreateModel(
            name="CaptionBatch",
            fields=[
                (
                    "guidelines",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.guidelines"
                    ),
                ),
                ("submitted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lease",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="caption_batch",
                        serialize=False,
                        to="allocation.batch",
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="batches", to="annotation.round"
                    ),
                ),
                (
                    "stage",
                    models.CharField(
                        choices=[("rate", "Rating"), ("write", "Writing"), ("submitted", "Submitted")],
                        default="rate",
                        max_length=9,
                    ),
                ),
                ("writing_opened_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("stage__in", ["rate", "write", "submitted"])),
                        name="caption_batch_stage_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("stage", "rate"), ("writing_opened_at__isnull", True)),
                            models.Q(models.Q(("stage", "rate"), _negated=True), ("writing_opened_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="caption_batch_writing_dated",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("stage", "submitted"), ("submitted_at__isnull", False)),
                            models.Q(models.Q(("stage", "submitted"), _negated=True), ("submitted_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="caption_batch_submission_dated",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CaptionItem",
            fields=[
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="item",
                        serialize=False,
                        to="allocation.assignment",
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="items", to="annotation.captionbatch"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "image",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.image"),
                ),
                (
                    "english",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.modelcaption"
                    ),
                ),
                (
                    "rating",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("EXCELLENT", "Excellent"),
                            ("GOOD", "Good"),
                            ("MEDIUM", "Medium"),
                            ("BAD", "Bad"),
                            ("NOT-ENOUGH-INFO", "Not enough info"),
                        ],
                        max_length=15,
                    ),
                ),
                ("rated_at", models.DateTimeField(blank=True, null=True)),
                (
                    "rating_ms",
                    models.PositiveIntegerField(default=0, help_text="Active time on screen 1, idle time cut."),
                ),
                ("text", models.TextField(blank=True)),
                ("revision", models.PositiveIntegerField(default=0)),
                ("saved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "copied_revision",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Revision that the writer was warned is almost the English caption.",
                        null=True,
                    ),
                ),
                (
                    "writing_ms",
                    models.PositiveIntegerField(default=0, help_text="Active time on screen 2, idle time cut."),
                ),
            ],
            options={
                "ordering": ["batch", "position"],
                "indexes": [models.Index(fields=["person", "image"], name="item_of_person_and_image")],
                "constraints": [
                    models.UniqueConstraint(fields=("batch", "position"), name="item_one_per_position"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rating__in", ["", "EXCELLENT", "GOOD", "MEDIUM", "BAD", "NOT-ENOUGH-INFO"])
                        ),
                        name="item_rating_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Caption",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "item",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="caption",
                        to="annotation.captionitem",
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="captions", to="annotation.round"
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="captions", to="images.image"
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="captions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "guidelines",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.guidelines"
                    ),
                ),
                (
                    "position",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="In the file that it came from, from 1; else 0."
                    ),
                ),
                ("text", models.TextField(help_text="In NFC, trimmed; of a file, letter for letter.")),
                ("text_as_typed", models.TextField()),
                (
                    "warnings",
                    models.JSONField(
                        default=list, help_text="Codes of the soft checks that the writer saw and overrode."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("counted", "Counted"),
                            ("late", "Late"),
                            ("returned", "Returned for correction"),
                            ("excluded", "Excluded by a manager"),
                            ("withdrawn", "Consent withdrawn"),
                        ],
                        default="counted",
                        max_length=9,
                    ),
                ),
                ("submitted_at", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["round", "image"], name="caption_by_round_and_image"),
                    models.Index(fields=["round", "author", "submitted_at"], name="caption_by_round_and_author"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("round", "image", "author"), name="caption_once_per_author"),
                    models.UniqueConstraint(
                        condition=models.Q(("position__gt", 0)),
                        fields=("round", "image", "position"),
                        name="caption_once_per_position",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("author__isnull", False), ("item__isnull", False), ("position", 0)),
                            models.Q(("author__isnull", True), ("item__isnull", True), ("position__gt", 0)),
                            _connector="OR",
                        ),
                        name="caption_has_an_author_or_a_file",
                    ),
                    models.CheckConstraint(condition=models.Q(("text", ""), _negated=True), name="caption_not_empty"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["counted", "late", "returned", "excluded", "withdrawn"])),
                        name="caption_state_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CorrectionRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "caption",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="corrections", to="annotation.caption"
                    ),
                ),
                ("note", models.TextField(help_text="What the author is asked to change.")),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("at", models.DateTimeField()),
                ("text_before", models.TextField()),
                ("text_before_as_typed", models.TextField()),
                ("warnings_before", models.JSONField(default=list)),
                ("answered_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["caption", "at"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("answered_at__isnull", True)),
                        fields=("caption",),
                        name="correction_once_at_a_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("note", ""), _negated=True), name="correction_with_a_note"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SpotCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "caption",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="spot_checks", to="annotation.caption"
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "is_rating_right",
                    models.BooleanField(help_text="Whether the author rated the English caption correctly.", null=True),
                ),
                (
                    "level",
                    models.CharField(blank=True, help_text="The manager's own level for the caption.", max_length=15),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("caption", "by"), name="spot_check_once_per_manager")],
            },
        ),
        migrations.CreateModel(
            name="Feedback",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="feedback", to="people.project"
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="feedback", to="annotation.round"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="feedback",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "caption",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="feedback",
                        to="annotation.caption",
                    ),
                ),
                ("text", models.TextField()),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("at", models.DateTimeField()),
                ("acknowledged_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["at", "pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("acknowledged_at__isnull", True)),
                        fields=["person", "project"],
                        name="feedback_to_acknowledge",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("text", ""), _negated=True), name="feedback_not_empty")
                ],
            },
        ),
        migrations.CreateModel(
            name="AnnotatorStatus",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="statuses", to="people.project"
                    ),
                ),
                (
                    "person",
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
                ("state", models.CharField(choices=[("qualified", "Qualified"), ("paused", "Paused")], max_length=9)),
                (
                    "was_qualified",
                    models.BooleanField(default=False, help_text="Whether the person was qualified before the pause."),
                ),
                ("reason", models.TextField(blank=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "person", "language"), name="annotator_status_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["qualified", "paused"])), name="annotator_status_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Exclusion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="exclusions", to="people.project"
                    ),
                ),
                (
                    "person",
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
                ("reason", models.TextField()),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "captions",
                    models.PositiveIntegerField(default=0, help_text="How many no longer count because of it."),
                ),
                ("undone_at", models.DateTimeField(blank=True, null=True)),
                (
                    "undone_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-at"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("undone_at__isnull", True)),
                        fields=("project", "person", "language"),
                        name="exclusion_once_per_language",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="exclusion_for_a_reason"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("undone_at__isnull", True), ("undone_at__gte", models.F("at")), _connector="OR"
                        ),
                        name="exclusion_undone_afterwards",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Release",
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
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="releases", to="people.project"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("title", models.CharField(max_length=200)),
                (
                    "licence",
                    models.CharField(
                        help_text="Of the captions, by its SPDX identifier, such as CC-BY-4.0.", max_length=100
                    ),
                ),
                (
                    "authors",
                    models.TextField(help_text="As they should be cited, one a line: family name, given names."),
                ),
                ("description", models.TextField(blank=True, help_text="Markdown; opens the datasheet.")),
                (
                    "changes",
                    models.TextField(
                        blank=True, help_text="What changed since the previous release, in the manager's words."
                    ),
                ),
                ("salt", models.CharField(max_length=64)),
                ("until", models.DateTimeField()),
                ("error", models.TextField(blank=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("folder", models.CharField(blank=True, help_text="Name in storage.", max_length=200)),
                ("archive", models.CharField(blank=True, help_text="Name in storage.", max_length=200)),
                ("archive_bytes", models.PositiveBigIntegerField(default=0)),
                ("checksum", models.CharField(blank=True, max_length=64)),
                ("counts", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["project", "-number"],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "number"), name="release_numbered_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "done"), _negated=True),
                            models.Q(("checksum", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="release_done_has_a_checksum",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="VerificationTask",
            fields=[
                (
                    "task",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="verification_task",
                        serialize=False,
                        to="allocation.task",
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verification_tasks",
                        to="annotation.round",
                    ),
                ),
                (
                    "caption",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="verification_tasks",
                        to="annotation.caption",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("round", "caption"), name="verification_task_once_per_caption")
                ],
            },
        ),
        migrations.CreateModel(
            name="VerificationBatch",
            fields=[
                (
                    "guidelines",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.guidelines"
                    ),
                ),
                ("submitted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lease",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="verification_batch",
                        serialize=False,
                        to="allocation.batch",
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="verification_batches",
                        to="annotation.round",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Verdict",
            fields=[
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="verdict",
                        serialize=False,
                        to="allocation.assignment",
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verdicts",
                        to="annotation.verificationbatch",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "caption",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="verdicts", to="annotation.caption"
                    ),
                ),
                (
                    "rating",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("EXCELLENT", "Excellent"),
                            ("GOOD", "Good"),
                            ("MEDIUM", "Medium"),
                            ("BAD", "Bad"),
                            ("NOT-ENOUGH-INFO", "Not enough info"),
                        ],
                        max_length=15,
                    ),
                ),
                ("rated_at", models.DateTimeField(blank=True, null=True)),
                ("rating_ms", models.PositiveIntegerField(default=0, help_text="Active time, idle time cut.")),
            ],
            options={
                "ordering": ["batch", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("batch", "position"), name="verdict_one_per_position"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rating__in", ["", "EXCELLENT", "GOOD", "MEDIUM", "BAD", "NOT-ENOUGH-INFO"])
                        ),
                        name="verdict_rating_known",
                    ),
                ],
            },
        ),
    ]
