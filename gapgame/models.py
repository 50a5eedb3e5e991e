"""Sentences with a gap, the seasons they are played in, the players, and every turn and guess."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection, Image, ImportJob
from core.languages.models import Language
from core.people.models import Invitation, Project
from gapgame.rules.play import ATTEMPTS, MICRO
from research.inference.models import WordVectorSet


class CorpusSplit(models.IntegerChoices):
    """intersect_N: the word and its translations in N languages share at least one sense."""

    INTERSECT_0 = 0, "intersect_0"
    INTERSECT_1 = 1, "intersect_1"
    INTERSECT_2 = 2, "intersect_2"
    INTERSECT_3 = 3, "intersect_3"
    INTERSECT_4 = 4, "intersect_4"


class ItemSet(models.Model):
    """Items that are imported and played together; `collection` holds their images under random keys."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="item_sets")
    name = models.CharField(max_length=120)
    collection = models.OneToOneField(Collection, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    corpora = models.JSONField(
        default=list, help_text="Of each corpus that items are from: name, fingerprint, choice, configuration."
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "name"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "name"], name="item_set_name_once_per_project"),
        ]

    def __str__(self) -> str:
        return self.name


class RepresentativeSource(models.TextChoices):
    """How the image of the first hint was chosen."""

    EMBEDDINGS = "embeddings", _("smallest mean cosine distance to the others")
    FILE = "file", _("named in the file")
    FIRST = "first", _("the first of the images")


class GapItem(models.Model):
    """A sentence with one word blanked: `before` + the gap + `after`. Never edited, only switched off."""

    item_set = models.ForeignKey(ItemSet, on_delete=models.CASCADE, related_name="items")
    key = models.CharField(max_length=200)
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    before = models.TextField(blank=True)
    after = models.TextField(blank=True)
    word = models.CharField(max_length=100)
    split = models.PositiveSmallIntegerField(choices=CorpusSplit.choices)
    sense = models.JSONField(default=list, blank=True, help_text="Ids of the synsets that the languages share.")
    representative_source = models.CharField(max_length=10, choices=RepresentativeSource.choices)
    is_used = models.BooleanField(default=True)
    import_job = models.ForeignKey(ImportJob, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["item_set", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["item_set", "key"], name="item_key_once_per_set"),
            models.CheckConstraint(condition=Q(split__in=CorpusSplit.values), name="item_split_known"),
            models.CheckConstraint(condition=~Q(word=""), name="item_has_a_word"),
            models.CheckConstraint(
                condition=Q(representative_source__in=RepresentativeSource.values), name="item_representative_known"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["item_set", "language", "split"], condition=Q(is_used=True), name="item_to_draw"),
        ]

    def __str__(self) -> str:
        return self.key


class ItemImage(models.Model):
    """An image of an item; the one at position 0 is the representative."""

    item = models.ForeignKey(GapItem, on_delete=models.CASCADE, related_name="images")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering: ClassVar[list[str]] = ["item", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["item", "image"], name="item_image_once"),
            models.UniqueConstraint(fields=["item", "position"], name="item_image_one_per_position"),
        ]

    def __str__(self) -> str:
        return f"image {self.position} of item {self.item_id}"


class SeasonAccess(models.TextChoices):
    OPEN = "open", _("Anyone can sign up")
    INVITED = "invited", _("Only people invited to the project as players")


class Season(models.Model):
    """Play from one instant to another, with one table of scores. Its terms never change once it has begun.

    `invitation` is the link to an open one. `closed_at`: turns are scored, ranks are given, the leaderboard is public.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="seasons")
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True, help_text="Markdown")
    prizes = models.TextField(blank=True, help_text="Markdown")
    item_set = models.ForeignKey(ItemSet, on_delete=models.PROTECT, related_name="seasons")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(help_text="The cut-off: guesses from this instant on do not count.")
    time_zone = models.CharField(max_length=64, default="UTC")
    batch_size = models.PositiveSmallIntegerField(default=100)
    access = models.CharField(max_length=8, choices=SeasonAccess.choices, default=SeasonAccess.INVITED)
    needs_address = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether players confirm an e-mail address before they join, each one of their own.",
    )
    invitation = models.OneToOneField(Invitation, on_delete=models.PROTECT, null=True, related_name="+")
    closed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["-starts_at", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="season_ends_after_it_starts"),
            models.CheckConstraint(condition=Q(batch_size__gte=1), name="season_batch_not_empty"),
            models.CheckConstraint(condition=Q(access__in=SeasonAccess.values), name="season_access_known"),
            models.CheckConstraint(
                condition=Q(closed_at=None) | Q(closed_at__gte=F("ends_at")), name="season_closed_after_cut_off"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SeasonLanguage(models.Model):
    """A language that a season is played in, and the vectors that its guesses are scored with."""

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="languages")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    vectors = models.ForeignKey(WordVectorSet, on_delete=models.PROTECT, related_name="+")
    signature = models.CharField(max_length=100, help_text="The vectors' signature when they were chosen.")

    class Meta:
        ordering: ClassVar[list[str]] = ["season", "language"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["season", "language"], name="season_language_once"),
        ]

    def __str__(self) -> str:
        return f"{self.language_id} in season {self.season_id}"


class PlayerStatus(models.TextChoices):
    """Whether a player can win. Rules only mark players; managers decide, except about withdrawals."""

    PLAYING = "playing", _("Takes part")
    CLEARED = "cleared", _("Marked, then cleared")
    SET_ASIDE = "set_aside", _("Set aside")
    WITHDRAWN = "withdrawn", _("Consent withdrawn")


class Player(models.Model):
    """Somebody in a season. `total` is in millionths of a point: exact, and the same on every database.

    `reached_at` is the time of the guess that brought the total to its value; among equal totals the earlier one wins.
    `rank` is given when the season closes, to all except those who are set aside, marked without being cleared, or
    withdrew their answers.
    """

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="players")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    nickname = models.CharField(max_length=24)
    is_on_leaderboard = models.BooleanField(default=True, help_text="Whether the nickname is published at the end.")
    joined_at = models.DateTimeField()
    total = models.BigIntegerField(default=0)
    reached_at = models.DateTimeField(null=True, blank=True)
    turns = models.PositiveIntegerField(default=0, help_text="Turns that are scored.")
    streak = models.PositiveIntegerField(default=0, help_text="Words found in a row.")
    best_streak = models.PositiveIntegerField(default=0)
    turns_checked = models.PositiveIntegerField(
        default=0, help_text="The value of `turns` when rules last checked for scripts."
    )
    is_marked = models.BooleanField(default=False, help_text="Whether play looks scripted by a rule.")
    status = models.CharField(max_length=9, choices=PlayerStatus.choices, default=PlayerStatus.PLAYING)
    rank = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["season", "user"], name="player_once_per_season"),
            models.UniqueConstraint("season", Lower("nickname"), name="player_nickname_once_per_season"),
            models.UniqueConstraint(fields=["season", "rank"], name="player_rank_once"),
            models.CheckConstraint(condition=Q(total__gte=0), name="player_total_not_negative"),
            models.CheckConstraint(condition=Q(total__lte=F("turns") * MICRO), name="player_total_possible"),
            models.CheckConstraint(condition=Q(status__in=PlayerStatus.values), name="player_status_known"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["season", "total"], condition=Q(turns__gte=1), name="player_by_total"),
            models.Index(fields=["season", "is_marked"], condition=Q(is_marked=True), name="player_marked"),
            models.Index(fields=["season"], condition=Q(status="set_aside"), name="player_set_aside"),
            models.Index(fields=["season"], condition=Q(turns__gt=F("turns_checked")), name="player_to_check"),
        ]

    def __str__(self) -> str:
        return self.nickname


class ScoreCount(models.Model):
    """The number of a season's players with a total in one range of points; percentages are sums of these.

    A range of level L is 2**L millionths of a point wide and has the number `total >> L`. No constraint keeps the
    number from going below zero: both databases would apply it to the -1 that an upsert adds to an existing row.
    """

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="+")
    level = models.PositiveSmallIntegerField()
    stretch = models.BigIntegerField()
    players = models.IntegerField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["season", "level", "stretch"], name="score_count_once"),
        ]

    def __str__(self) -> str:
        return f"{self.players} players in stretch {self.stretch} of level {self.level}"


class GameBatch(models.Model):
    """The sentences that a player asked for at once; `signature` is of the vectors that score them."""

    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="batches")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    signature = models.CharField(max_length=100)
    number = models.PositiveIntegerField(help_text="The player's first batch is 1.")
    taken_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["player", "number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["player", "number"], name="game_batch_number_once"),
        ]

    def __str__(self) -> str:
        return f"batch {self.number} of player {self.player_id}"


class TurnOutcome(models.TextChoices):
    WAITING = "waiting", _("Not started")
    OPEN = "open", _("In progress")
    ATTEMPT_1 = "attempt_1", _("Found at the first attempt")
    ATTEMPT_2 = "attempt_2", _("Found at the second attempt")
    ATTEMPT_3 = "attempt_3", _("Found at the third attempt")
    FAILED = "failed", _("Not found")
    SKIPPED = "skipped", _("Skipped")
    CUT_OFF = "cut_off", _("Ended by the cut-off")


UNFINISHED = (TurnOutcome.WAITING, TurnOutcome.OPEN)


class SkipReason(models.TextChoices):
    OFFENSIVE = "offensive", _("The sentence or an image is offensive")
    BROKEN = "broken", _("The sentence makes no sense")
    WRONG_IMAGE = "wrong_image", _("An image does not fit")
    OTHER = "other", _("Something else")


class Turn(models.Model):
    """One player on one item. `seed` orders the images, so that their order is always the same.

    `shown_at` is when the sentence or hint that the next guess answers was shown. `fetched_at` is when the player's
    device got the sentence ahead, which opens nothing; `opened_at` is when it was shown, and never before that.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="all_turns")
    batch = models.ForeignKey(GameBatch, on_delete=models.CASCADE, related_name="all_turns")
    item = models.ForeignKey(GapItem, on_delete=models.PROTECT, related_name="turns")
    position = models.PositiveSmallIntegerField(help_text="In the batch, from 1.")
    seed = models.BigIntegerField()
    outcome = models.CharField(max_length=9, choices=TurnOutcome.choices, default=TurnOutcome.WAITING)
    attempts_made = models.PositiveSmallIntegerField(default=0)
    score = models.PositiveIntegerField(default=0, help_text="millionths of a point")
    fetched_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    shown_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    skip_reason = models.CharField(max_length=13, choices=SkipReason.choices, blank=True)
    skip_note = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["player", "item"], name="turn_item_once_per_player"),
            models.UniqueConstraint(fields=["batch", "position"], name="turn_position_once"),
            models.UniqueConstraint(fields=["player"], condition=Q(outcome="open"), name="turn_one_open_per_player"),
            models.CheckConstraint(condition=Q(outcome__in=TurnOutcome.values), name="turn_outcome_known"),
            models.CheckConstraint(condition=Q(attempts_made__lte=ATTEMPTS), name="turn_three_attempts"),
            models.CheckConstraint(condition=Q(score__lte=MICRO), name="turn_score_at_most_one"),
            models.CheckConstraint(
                condition=Q(skip_reason="") | Q(skip_reason__in=SkipReason.values), name="turn_skip_reason_known"
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=UNFINISHED, finished_at=None)
                | (~Q(outcome__in=UNFINISHED) & Q(finished_at__isnull=False)),
                name="turn_finished_when_it_says_so",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["player", "finished_at"], name="turn_of_player"),
            models.Index(fields=["item"], condition=Q(outcome="skipped"), name="turn_skipped"),
        ]

    def __str__(self) -> str:
        return f"turn {self.pk}"

    @cached_property
    def made(self) -> list[Attempt]:
        """Return its attempts, the first one first."""
        return list(self.attempts.all()) if self.attempts_made else []


class Attempt(models.Model):
    """A guess, kept for good. `similarity` and `score` in millionths."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    guess = models.CharField(max_length=100)
    similarity = models.PositiveIntegerField()
    score = models.PositiveIntegerField()
    has_vector = models.BooleanField()
    made_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["turn", "number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["turn", "number"], name="attempt_once"),
            models.CheckConstraint(condition=Q(number__range=(1, ATTEMPTS)), name="attempt_one_to_three"),
            models.CheckConstraint(condition=Q(similarity__lte=MICRO), name="attempt_similarity_at_most_one"),
            models.CheckConstraint(condition=Q(score__lte=F("similarity")), name="attempt_score_at_most_similarity"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of turn {self.turn_id}"


class Mark(models.Model):
    """A player's play, or one turn of it, that a rule of `rules/scripted.py` found to look scripted."""

    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="marks")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, null=True, blank=True, related_name="marks")
    rule = models.CharField(max_length=20)
    detail = models.CharField(max_length=200, blank=True)
    made_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["player", "made_at", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["turn", "rule"], condition=Q(turn__isnull=False), name="mark_once_per_turn"
            ),
            models.UniqueConstraint(fields=["player", "rule"], condition=Q(turn=None), name="mark_once_per_player"),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: player {self.player_id}"
