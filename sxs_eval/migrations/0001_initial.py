import django.db.models.deletion
import django.db.models.expressions
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
            name="Instructions",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rater_instructions",
                        to="people.project",
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("body", models.TextField(help_text="Markdown")),
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
                "constraints": [
                    models.UniqueConstraint(fields=("project", "version"), name="instructions_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Comparison",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="comparisons", to="people.project"
                    ),
                ),
                (
                    "language",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="languages.language"
                    ),
                ),
                (
                    "base",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.captioningmodel"
                    ),
                ),
                (
                    "test",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.captioningmodel"
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.collection"
                    ),
                ),
                (
                    "subset",
                    models.PositiveIntegerField(
                        blank=True, help_text="How many images are drawn by the seed; empty for all.", null=True
                    ),
                ),
                (
                    "seed",
                    models.BigIntegerField(help_text="For the subset, the order of pairs, and the gold pairs drawn."),
                ),
                (
                    "scale",
                    models.PositiveSmallIntegerField(
                        choices=[(7, "7 points"), (5, "5 points, without “slightly”")], default=7
                    ),
                ),
                (
                    "equal_captions",
                    models.CharField(
                        choices=[
                            ("shown", "Show them to raters like any other pair"),
                            ("similar", "Count them as SIMILAR without showing them"),
                        ],
                        default="shown",
                        max_length=7,
                    ),
                ),
                (
                    "pool",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="comparison", to="allocation.pool"
                    ),
                ),
                (
                    "gold_percent",
                    models.PositiveSmallIntegerField(default=0, help_text="Gold pairs per 100 pairs of a batch."),
                ),
                (
                    "repeat_percent",
                    models.PositiveSmallIntegerField(default=0, help_text="Repeats per 100 pairs of a batch."),
                ),
                ("checks_before_pause", models.PositiveSmallIntegerField(default=5)),
                ("failures_percent", models.PositiveSmallIntegerField(default=40)),
                (
                    "awaits_pairs",
                    models.BooleanField(
                        default=False, help_text="Whether background work still has to look for images without a pair."
                    ),
                ),
                (
                    "left_out",
                    models.PositiveIntegerField(
                        default=0, help_text="Images that lack a caption of one of the models."
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
                    models.CheckConstraint(
                        condition=models.Q(("base", models.F("test")), _negated=True), name="comparison_of_two_models"
                    ),
                    models.CheckConstraint(condition=models.Q(("scale__in", [7, 5])), name="comparison_scale_known"),
                    models.CheckConstraint(
                        condition=models.Q(("equal_captions__in", ["shown", "similar"])),
                        name="comparison_equal_captions_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("subset", None), ("subset__gte", 1), _connector="OR"),
                        name="comparison_subset_not_empty",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("gold_percent__lte", 50), ("repeat_percent__lte", 50)),
                        name="comparison_attention_at_most_half",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("checks_before_pause__gte", 1), ("failures_percent__lte", 100)),
                        name="comparison_pause_rule_possible",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Pair",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pairs", to="sxs_eval.comparison"
                    ),
                ),
                (
                    "task",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pair",
                        to="allocation.task",
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.image"),
                ),
                (
                    "base_caption",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.modelcaption"
                    ),
                ),
                (
                    "test_caption",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.modelcaption"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("comparison", "image"), name="pair_once_per_image")],
            },
        ),
        migrations.CreateModel(
            name="GoldPair",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="gold_pairs", to="sxs_eval.comparison"
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.image"),
                ),
                ("better", models.TextField()),
                ("worse", models.TextField()),
                (
                    "other_image",
                    models.ForeignKey(
                        blank=True,
                        help_text="The image of the worse caption, if it is another one.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="images.image",
                    ),
                ),
                ("is_used", models.BooleanField(default=True, help_text="Whether it is still shown.")),
            ],
            options={
                "ordering": ["comparison", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("comparison", "image"), name="gold_pair_once_per_image"),
                    models.CheckConstraint(
                        condition=models.Q(("better", models.F("worse")), _negated=True),
                        name="gold_pair_of_two_captions",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgingBatch",
            fields=[
                (
                    "lease",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="judging_batch",
                        serialize=False,
                        to="allocation.batch",
                    ),
                ),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="batches", to="sxs_eval.comparison"
                    ),
                ),
                (
                    "instructions",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="sxs_eval.instructions"
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Judgement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgements",
                        to="sxs_eval.judgingbatch",
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="judgements", to="sxs_eval.comparison"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("pair", "Pair"), ("gold", "Gold pair"), ("repeat", "Repeat, sides swapped")],
                        default="pair",
                        max_length=6,
                    ),
                ),
                (
                    "assignment",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgement",
                        to="allocation.assignment",
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgements",
                        to="sxs_eval.pair",
                    ),
                ),
                (
                    "gold",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgements",
                        to="sxs_eval.goldpair",
                    ),
                ),
                (
                    "repeated",
                    models.OneToOneField(
                        blank=True,
                        help_text="What is repeated.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="repeat",
                        to="sxs_eval.judgement",
                    ),
                ),
                ("test_is_left", models.BooleanField()),
                (
                    "scale",
                    models.PositiveSmallIntegerField(
                        choices=[(7, "7 points"), (5, "5 points, without “slightly”")], help_text="The comparison's."
                    ),
                ),
                ("choice", models.SmallIntegerField(blank=True, null=True)),
                ("score", models.SmallIntegerField(blank=True, null=True)),
                ("comment", models.TextField(blank=True)),
                ("judged_at", models.DateTimeField(blank=True, null=True)),
                (
                    "active_ms",
                    models.PositiveIntegerField(default=0, help_text="Active time before the answer, idle time cut."),
                ),
                (
                    "is_late",
                    models.BooleanField(default=False, help_text="Submitted after somebody else had taken the place."),
                ),
            ],
            options={
                "ordering": ["batch", "position"],
                "indexes": [
                    models.Index(fields=["comparison", "pair"], name="judgement_by_comparison"),
                    models.Index(fields=["person", "comparison"], name="judgement_of_person"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("batch", "position"), name="judgement_one_per_position"),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "pair")),
                        fields=("pair", "person"),
                        name="judgement_once_per_pair_and_rater",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("choice", None), ("judged_at", None), ("score", None)),
                            models.Q(
                                ("choice__isnull", False),
                                ("judged_at__isnull", False),
                                ("score", models.F("choice")),
                                ("test_is_left", True),
                            ),
                            models.Q(
                                ("choice__isnull", False),
                                ("judged_at__isnull", False),
                                (
                                    "score",
                                    django.db.models.expressions.CombinedExpression(
                                        models.Value(0), "-", models.F("choice")
                                    ),
                                ),
                                ("test_is_left", False),
                            ),
                            _connector="OR",
                        ),
                        name="judgement_score_is_choice_by_side",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("choice", None),
                            models.Q(("choice__in", (3, 2, 1, 0, -1, -2, -3)), ("scale", 7)),
                            models.Q(("choice__in", (3, 2, 0, -2, -3)), ("scale", 5)),
                            _connector="OR",
                        ),
                        name="judgement_choice_on_its_scale",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("assignment__isnull", False),
                                ("gold", None),
                                ("kind", "pair"),
                                ("pair__isnull", False),
                                ("repeated", None),
                            ),
                            models.Q(
                                ("assignment", None),
                                ("gold__isnull", False),
                                ("kind", "gold"),
                                ("pair", None),
                                ("repeated", None),
                            ),
                            models.Q(
                                ("assignment", None),
                                ("gold", None),
                                ("kind", "repeat"),
                                ("pair__isnull", False),
                                ("repeated__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="judgement_of_one_kind",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RaterStatus",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="statuses", to="sxs_eval.comparison"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("paused", "Paused"),
                            ("restored", "Restored"),
                            ("excluded", "Excluded"),
                            ("withdrawn", "Consent withdrawn"),
                        ],
                        default="paused",
                        max_length=9,
                    ),
                ),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                (
                    "checks_from",
                    models.DateTimeField(blank=True, help_text="Earlier attention items are forgiven.", null=True),
                ),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("note", models.TextField(blank=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("comparison", "person"), name="status_once_per_rater"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["paused", "restored", "excluded", "withdrawn"])),
                        name="status_state_known",
                    ),
                ],
            },
        ),
    ]
