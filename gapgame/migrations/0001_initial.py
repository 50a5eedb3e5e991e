import uuid

import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.text
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
            name="ItemSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="item_sets", to="people.project"
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                (
                    "collection",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.collection"
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
                "ordering": ["project", "name"],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "name"), name="item_set_name_once_per_project")
                ],
            },
        ),
        migrations.CreateModel(
            name="GapItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "item_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="items", to="gapgame.itemset"
                    ),
                ),
                ("key", models.CharField(max_length=200)),
                (
                    "language",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="languages.language"
                    ),
                ),
                ("before", models.TextField(blank=True)),
                ("after", models.TextField(blank=True)),
                ("word", models.CharField(max_length=100)),
                (
                    "split",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "intersect_0"),
                            (1, "intersect_1"),
                            (2, "intersect_2"),
                            (3, "intersect_3"),
                            (4, "intersect_4"),
                        ]
                    ),
                ),
                (
                    "sense",
                    models.JSONField(
                        blank=True, default=list, help_text="Ids of the synsets that the languages share."
                    ),
                ),
                (
                    "representative_source",
                    models.CharField(
                        choices=[
                            ("embeddings", "smallest mean cosine distance to the others"),
                            ("file", "named in the file"),
                            ("first", "the first of the images"),
                        ],
                        max_length=10,
                    ),
                ),
                ("is_used", models.BooleanField(default=True)),
            ],
            options={
                "ordering": ["item_set", "pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_used", True)),
                        fields=["item_set", "language", "split"],
                        name="item_to_draw",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("item_set", "key"), name="item_key_once_per_set"),
                    models.CheckConstraint(condition=models.Q(("split__in", [0, 1, 2, 3, 4])), name="item_split_known"),
                    models.CheckConstraint(condition=models.Q(("word", ""), _negated=True), name="item_has_a_word"),
                    models.CheckConstraint(
                        condition=models.Q(("representative_source__in", ["embeddings", "file", "first"])),
                        name="item_representative_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ItemImage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="images", to="gapgame.gapitem"
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="images.image"),
                ),
                ("position", models.PositiveSmallIntegerField()),
            ],
            options={
                "ordering": ["item", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("item", "image"), name="item_image_once"),
                    models.UniqueConstraint(fields=("item", "position"), name="item_image_one_per_position"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Season",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="seasons", to="people.project"
                    ),
                ),
                ("slug", models.SlugField(unique=True)),
                ("name", models.CharField(max_length=120)),
                ("description", models.TextField(blank=True, help_text="Markdown")),
                ("prizes", models.TextField(blank=True, help_text="Markdown")),
                (
                    "item_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="seasons", to="gapgame.itemset"
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField(help_text="The cut-off: guesses from this instant on do not count.")),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                ("batch_size", models.PositiveSmallIntegerField(default=100)),
                (
                    "access",
                    models.CharField(
                        choices=[
                            ("open", "Anyone can sign up"),
                            ("invited", "Only people invited to the project as players"),
                        ],
                        default="invited",
                        max_length=8,
                    ),
                ),
                (
                    "needs_address",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether players confirm an e-mail address before they join, each one of their own.",
                    ),
                ),
                (
                    "invitation",
                    models.OneToOneField(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.invitation"
                    ),
                ),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
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
                "ordering": ["-starts_at", "pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ends_at__gt", models.F("starts_at"))), name="season_ends_after_it_starts"
                    ),
                    models.CheckConstraint(condition=models.Q(("batch_size__gte", 1)), name="season_batch_not_empty"),
                    models.CheckConstraint(
                        condition=models.Q(("access__in", ["open", "invited"])), name="season_access_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("closed_at", None), ("closed_at__gte", models.F("ends_at")), _connector="OR"
                        ),
                        name="season_closed_after_cut_off",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SeasonLanguage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "season",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="languages", to="gapgame.season"
                    ),
                ),
                (
                    "language",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="languages.language"
                    ),
                ),
                (
                    "vectors",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inference.wordvectorset"
                    ),
                ),
                (
                    "signature",
                    models.CharField(help_text="The vectors' signature when they were chosen.", max_length=100),
                ),
            ],
            options={
                "ordering": ["season", "language"],
                "constraints": [models.UniqueConstraint(fields=("season", "language"), name="season_language_once")],
            },
        ),
        migrations.CreateModel(
            name="Player",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "season",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="players", to="gapgame.season"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("nickname", models.CharField(max_length=24)),
                (
                    "is_on_leaderboard",
                    models.BooleanField(default=True, help_text="Whether the nickname is published at the end."),
                ),
                ("joined_at", models.DateTimeField()),
                ("total", models.BigIntegerField(default=0)),
                ("reached_at", models.DateTimeField(blank=True, null=True)),
                ("turns", models.PositiveIntegerField(default=0, help_text="Turns that are scored.")),
                ("streak", models.PositiveIntegerField(default=0, help_text="Words found in a row.")),
                ("best_streak", models.PositiveIntegerField(default=0)),
                (
                    "turns_checked",
                    models.PositiveIntegerField(
                        default=0, help_text="The value of `turns` when rules last checked for scripts."
                    ),
                ),
                ("is_marked", models.BooleanField(default=False, help_text="Whether play looks scripted by a rule.")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("playing", "Takes part"),
                            ("cleared", "Marked, then cleared"),
                            ("set_aside", "Set aside"),
                            ("withdrawn", "Consent withdrawn"),
                        ],
                        default="playing",
                        max_length=9,
                    ),
                ),
                ("rank", models.PositiveIntegerField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("turns__gte", 1)), fields=["season", "total"], name="player_by_total"
                    ),
                    models.Index(
                        condition=models.Q(("is_marked", True)), fields=["season", "is_marked"], name="player_marked"
                    ),
                    models.Index(
                        condition=models.Q(("status", "set_aside")), fields=["season"], name="player_set_aside"
                    ),
                    models.Index(
                        condition=models.Q(("turns__gt", models.F("turns_checked"))),
                        fields=["season"],
                        name="player_to_check",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("season", "user"), name="player_once_per_season"),
                    models.UniqueConstraint(
                        models.F("season"),
                        django.db.models.functions.text.Lower("nickname"),
                        name="player_nickname_once_per_season",
                    ),
                    models.UniqueConstraint(fields=("season", "rank"), name="player_rank_once"),
                    models.CheckConstraint(condition=models.Q(("total__gte", 0)), name="player_total_not_negative"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "total__lte",
                                django.db.models.expressions.CombinedExpression(
                                    models.F("turns"), "*", models.Value(1000000)
                                ),
                            )
                        ),
                        name="player_total_possible",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["playing", "cleared", "set_aside", "withdrawn"])),
                        name="player_status_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScoreCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "season",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="gapgame.season"
                    ),
                ),
                ("level", models.PositiveSmallIntegerField()),
                ("stretch", models.BigIntegerField()),
                ("players", models.IntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("season", "level", "stretch"), name="score_count_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="GameBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "player",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="batches", to="gapgame.player"
                    ),
                ),
                (
                    "language",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="languages.language"
                    ),
                ),
                ("signature", models.CharField(max_length=100)),
                ("number", models.PositiveIntegerField(help_text="The player's first batch is 1.")),
                ("taken_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["player", "number"],
                "constraints": [models.UniqueConstraint(fields=("player", "number"), name="game_batch_number_once")],
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "player",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="all_turns", to="gapgame.player"
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="all_turns", to="gapgame.gamebatch"
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="turns", to="gapgame.gapitem"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField(help_text="In the batch, from 1.")),
                ("seed", models.BigIntegerField()),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("waiting", "Not started"),
                            ("open", "In progress"),
                            ("attempt_1", "Found at the first attempt"),
                            ("attempt_2", "Found at the second attempt"),
                            ("attempt_3", "Found at the third attempt"),
                            ("failed", "Not found"),
                            ("skipped", "Skipped"),
                            ("cut_off", "Ended by the cut-off"),
                        ],
                        default="waiting",
                        max_length=9,
                    ),
                ),
                ("attempts_made", models.PositiveSmallIntegerField(default=0)),
                ("score", models.PositiveIntegerField(default=0, help_text="millionths of a point")),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("shown_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "skip_reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("offensive", "The sentence or an image is offensive"),
                            ("broken", "The sentence makes no sense"),
                            ("wrong_image", "An image does not fit"),
                            ("other", "Something else"),
                        ],
                        max_length=13,
                    ),
                ),
                ("skip_note", models.CharField(blank=True, max_length=500)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["player", "finished_at"], name="turn_of_player"),
                    models.Index(condition=models.Q(("outcome", "skipped")), fields=["item"], name="turn_skipped"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("player", "item"), name="turn_item_once_per_player"),
                    models.UniqueConstraint(fields=("batch", "position"), name="turn_position_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("outcome", "open")), fields=("player",), name="turn_one_open_per_player"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "outcome__in",
                                [
                                    "waiting",
                                    "open",
                                    "attempt_1",
                                    "attempt_2",
                                    "attempt_3",
                                    "failed",
                                    "skipped",
                                    "cut_off",
                                ],
                            )
                        ),
                        name="turn_outcome_known",
                    ),
                    models.CheckConstraint(condition=models.Q(("attempts_made__lte", 3)), name="turn_three_attempts"),
                    models.CheckConstraint(condition=models.Q(("score__lte", 1000000)), name="turn_score_at_most_one"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("skip_reason", ""),
                            ("skip_reason__in", ["offensive", "broken", "wrong_image", "other"]),
                            _connector="OR",
                        ),
                        name="turn_skip_reason_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at", None), ("outcome__in", ("waiting", "open"))),
                            models.Q(
                                models.Q(("outcome__in", ("waiting", "open")), _negated=True),
                                ("finished_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="turn_finished_when_it_says_so",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attempts", to="gapgame.turn"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("guess", models.CharField(max_length=100)),
                ("similarity", models.PositiveIntegerField()),
                ("score", models.PositiveIntegerField()),
                ("has_vector", models.BooleanField()),
                ("made_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["turn", "number"],
                "constraints": [
                    models.UniqueConstraint(fields=("turn", "number"), name="attempt_once"),
                    models.CheckConstraint(condition=models.Q(("number__range", (1, 3))), name="attempt_one_to_three"),
                    models.CheckConstraint(
                        condition=models.Q(("similarity__lte", 1000000)), name="attempt_similarity_at_most_one"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("score__lte", models.F("similarity"))),
                        name="attempt_score_at_most_similarity",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Mark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "player",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="marks", to="gapgame.player"
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="marks",
                        to="gapgame.turn",
                    ),
                ),
                ("rule", models.CharField(max_length=20)),
                ("detail", models.CharField(blank=True, max_length=200)),
                ("made_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["player", "made_at", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("turn__isnull", False)), fields=("turn", "rule"), name="mark_once_per_turn"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("turn", None)), fields=("player", "rule"), name="mark_once_per_player"
                    ),
                ],
            },
        ),
    ]
