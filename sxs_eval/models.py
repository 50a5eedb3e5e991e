"""Comparisons of two captioning models, their pairs of captions, and raters' judgements of them."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.allocation.models import Assignment, Batch, LeasedBatch, Pool, Task
from core.images.models import Collection, Image
from core.languages.models import Language
from core.people.models import Project, TextTranslation
from crosslens_metrics.scales import SCALES, SEVEN_POINTS, ScaleLevel
from research.inference.models import CaptioningModel, ModelCaption
from research.selection.rules.image_filters import MAX_FILTER_CHARACTERS


class Instructions(models.Model):
    """One version of a project's instructions for raters; never edited, only replaced by the next."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="rater_instructions")
    version = models.PositiveIntegerField()
    body = models.TextField(help_text="Markdown")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "version"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "version"], name="instructions_version_once"),
        ]

    def __str__(self) -> str:
        return f"instructions {self.version} of project {self.project_id}"


SCALE_CHOICES = [(points, _(scale.title)) for points, scale in SCALES.items()]


class EqualCaptions(models.TextChoices):
    SHOWN = "shown", _("Show them to raters like any other pair")
    SIMILAR = "similar", _("Count them as SIMILAR without showing them")


class ComparisonQuerySet(models.QuerySet["Comparison"]):
    def in_results(self) -> ComparisonQuerySet:
        """Return those that count in results over several comparisons: pooled gains, rankings, correlations."""
        return self.filter(excluded_at=None)

    def left_out(self) -> ComparisonQuerySet:
        return self.exclude(excluded_at=None)


class Comparison(models.Model):
    """Test model against base model in one language. Its pool has the replication and the batch size.

    A rater who failed more than `failures_percent` of at least `checks_before_pause` attention items is paused.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="comparisons")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    base = models.ForeignKey(CaptioningModel, on_delete=models.PROTECT, related_name="+")
    test = models.ForeignKey(CaptioningModel, on_delete=models.PROTECT, related_name="+")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="+")
    subset = models.PositiveIntegerField(
        null=True, blank=True, help_text="How many images are drawn by the seed; empty for all."
    )
    images = models.CharField(
        max_length=MAX_FILTER_CHARACTERS,
        blank=True,
        default="",
        help_text="An image filter: only its images; empty for all.",
    )
    seed = models.BigIntegerField(help_text="For the subset, the order of pairs, and the gold pairs drawn.")
    scale = models.PositiveSmallIntegerField(choices=SCALE_CHOICES, default=SEVEN_POINTS.points)
    equal_captions = models.CharField(max_length=7, choices=EqualCaptions.choices, default=EqualCaptions.SHOWN)
    pool = models.OneToOneField(Pool, on_delete=models.PROTECT, related_name="comparison")
    gold_percent = models.PositiveSmallIntegerField(default=0, help_text="Gold pairs per 100 pairs of a batch.")
    repeat_percent = models.PositiveSmallIntegerField(default=0, help_text="Repeats per 100 pairs of a batch.")
    checks_before_pause = models.PositiveSmallIntegerField(default=5)
    failures_percent = models.PositiveSmallIntegerField(default=40)
    awaits_pairs = models.BooleanField(
        default=False, help_text="Whether background work still has to look for images without a pair."
    )
    filled_at = models.DateTimeField(null=True, blank=True, help_text="When that work last ended.")
    chosen_by = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="The metric by whose scores a plan proposed it, * for one without a name; empty if none did.",
    )
    left_out = models.PositiveIntegerField(default=0, help_text="Images that lack a caption of one of the models.")
    looks = models.JSONField(
        default=list,
        blank=True,
        help_text="Numbers of complete images, none twice in a row, at which its results were opened or downloaded.",
    )
    excluded_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when it is left out of results; empty while it counts."
    )
    exclusion_reason = models.CharField(max_length=500, blank=True, default="")
    source = models.TextField(
        blank=True, default="", help_text="Where its judgements are from, if from a file; empty if people judge here."
    )
    design = models.TextField(
        blank=True, default="", help_text="What the file says of how it was judged, for signatures."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    objects = ComparisonQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=~Q(base=F("test")), name="comparison_of_two_models"),
            models.CheckConstraint(condition=Q(scale__in=list(SCALES)), name="comparison_scale_known"),
            models.CheckConstraint(
                condition=Q(equal_captions__in=EqualCaptions.values), name="comparison_equal_captions_known"
            ),
            models.CheckConstraint(condition=Q(subset=None) | Q(subset__gte=1), name="comparison_subset_not_empty"),
            models.CheckConstraint(
                condition=Q(gold_percent__lte=50) & Q(repeat_percent__lte=50), name="comparison_attention_at_most_half"
            ),
            models.CheckConstraint(
                condition=Q(checks_before_pause__gte=1) & Q(failures_percent__lte=100),
                name="comparison_pause_rule_possible",
            ),
        ]

    def __str__(self) -> str:
        return f"comparison {self.pk} in {self.language_id} of project {self.project_id}"

    @property
    def replication(self) -> int:
        return self.pool.replication

    @property
    def trials_per_batch(self) -> int:
        """The pairs of a batch with the attention items among them, on the average."""
        return self.pool.batch_size * (100 + self.gold_percent + self.repeat_percent) // 100


class Pair(models.Model):
    """One image of a comparison, with a caption of each model.

    Without a task it is not shown: its captions are equal, and the comparison counts such pairs as SIMILAR.
    """

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="pairs")
    task = models.OneToOneField(Task, on_delete=models.CASCADE, null=True, blank=True, related_name="pair")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    base_caption = models.ForeignKey(ModelCaption, on_delete=models.PROTECT, related_name="+")
    test_caption = models.ForeignKey(ModelCaption, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["comparison", "image"], name="pair_once_per_image"),
        ]

    def __str__(self) -> str:
        return f"image {self.image_id} of comparison {self.comparison_id}"


class GoldPair(models.Model):
    """Two captions, one of them known to be better; never counted, only used to check raters' attention."""

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="gold_pairs")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    better = models.TextField()
    worse = models.TextField()
    other_image = models.ForeignKey(
        Image,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The image of the worse caption, if it is another one.",
    )
    is_used = models.BooleanField(default=True, help_text="Whether it is still shown.")

    class Meta:
        ordering: ClassVar[list[str]] = ["comparison", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["comparison", "image"], name="gold_pair_once_per_image"),
            models.CheckConstraint(condition=~Q(better=F("worse")), name="gold_pair_of_two_captions"),
        ]

    def __str__(self) -> str:
        return f"gold pair {self.pk} of comparison {self.comparison_id}"


class JudgingBatch(LeasedBatch):
    """The batch of one rater in a comparison; its progress is in its judgements."""

    lease = models.OneToOneField(Batch, on_delete=models.CASCADE, primary_key=True, related_name="judging_batch")
    comparison = models.ForeignKey(Comparison, on_delete=models.PROTECT, related_name="batches")
    instructions = models.ForeignKey(
        Instructions, on_delete=models.PROTECT, null=True, related_name="+", help_text="Empty if from a file."
    )
    instructions_language = models.CharField(
        max_length=35, blank=True, help_text="What they were shown in when it was taken; empty for the original."
    )
    instructions_translation = models.ForeignKey(
        TextTranslation, on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="What was shown of them; empty for the original.",
    )  # fmt: skip

    shown_above = ("comparison__project", "comparison__language", "instructions")
    left_out = ("instructions__body", "comparison__project__description")

    def __str__(self) -> str:
        return f"batch {self.pk} of comparison {self.comparison_id}"


class TrialKind(models.TextChoices):
    PAIR = "pair", _("Pair")
    GOLD = "gold", _("Gold pair")
    REPEAT = "repeat", _("Repeat, sides swapped")


class Judgement(models.Model):
    """One trial of two captions for one rater, and the answer once there is one.

    `choice` is the answer as given: 3 for left much better, -3 for right much better. `score` is the same as test
    against base (for a gold pair: its better caption against the worse one); `test_is_left` converts between them. Only
    answers to pairs can count; gold pairs and repeats check attention.
    """

    batch = models.ForeignKey(JudgingBatch, on_delete=models.PROTECT, related_name="judgements")
    position = models.PositiveSmallIntegerField()
    comparison = models.ForeignKey(Comparison, on_delete=models.PROTECT, related_name="judgements")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=6, choices=TrialKind.choices, default=TrialKind.PAIR)
    assignment = models.OneToOneField(
        Assignment, on_delete=models.PROTECT, null=True, blank=True, related_name="judgement"
    )
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, null=True, blank=True, related_name="judgements")
    gold = models.ForeignKey(GoldPair, on_delete=models.PROTECT, null=True, blank=True, related_name="judgements")
    repeated = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="repeat", help_text="What is repeated."
    )
    test_is_left = models.BooleanField(null=True, help_text="Empty where a file does not say; choice is score then.")
    scale = models.PositiveSmallIntegerField(choices=SCALE_CHOICES, help_text="The comparison's.")
    choice = models.SmallIntegerField(null=True, blank=True)
    score = models.SmallIntegerField(null=True, blank=True)
    comment = models.TextField(blank=True)
    judged_at = models.DateTimeField(null=True, blank=True)
    active_ms = models.PositiveIntegerField(default=0, help_text="Active time before the answer, idle time cut.")
    is_late = models.BooleanField(default=False, help_text="Submitted after somebody else had taken the place.")
    is_skipped = models.BooleanField(
        default=False,
        db_default=False,  # while a server of the version before still runs
        help_text="Reported and skipped, of attention items; pairs have an assignment that says it.",
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["batch", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["batch", "position"], name="judgement_one_per_position"),
            models.UniqueConstraint(
                fields=["pair", "person"], condition=Q(kind="pair"), name="judgement_once_per_pair_and_rater"
            ),
            models.CheckConstraint(
                condition=Q(choice=None, score=None, judged_at=None)
                | Q(choice__isnull=False, judged_at__isnull=False, test_is_left=None, score=F("choice"))
                | Q(choice__isnull=False, judged_at__isnull=False, test_is_left=True, score=F("choice"))
                | Q(choice__isnull=False, judged_at__isnull=False, test_is_left=False, score=0 - F("choice")),
                name="judgement_score_is_choice_by_side",
            ),
            models.CheckConstraint(
                condition=reduce(
                    or_, (Q(scale=points, choice__in=scale.numbers) for points, scale in SCALES.items()), Q(choice=None)
                ),
                name="judgement_choice_on_its_scale",
            ),
            models.CheckConstraint(
                condition=Q(kind="pair", pair__isnull=False, assignment__isnull=False, gold=None, repeated=None)
                | Q(kind="gold", pair=None, assignment=None, gold__isnull=False, repeated=None)
                | Q(kind="repeat", pair__isnull=False, assignment=None, gold=None, repeated__isnull=False),
                name="judgement_of_one_kind",
            ),
            models.CheckConstraint(
                condition=Q(is_skipped=False) | Q(choice=None, assignment=None), name="judgement_skipped_has_no_answer"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["comparison", "pair"], name="judgement_by_comparison"),
            models.Index(fields=["person", "comparison"], name="judgement_of_person"),
        ]

    def __str__(self) -> str:
        return f"judgement {self.position} of batch {self.batch_id}"

    @property
    def image(self) -> Image:
        if self.gold:
            return self.gold.image
        assert self.pair is not None
        return self.pair.image

    @property
    def sides(self) -> tuple[str, str]:
        """The captions as the rater sees them, the left one first."""
        if self.gold:
            test, base = self.gold.better, self.gold.worse
        else:
            assert self.pair is not None
            test, base = self.pair.test_caption.text, self.pair.base_caption.text
        # Where the side is not known, the answer is kept as if the test model's was on the left.
        return (base, test) if self.test_is_left is False else (test, base)

    @property
    def answer(self) -> ScaleLevel | None:
        """The answer as given, left against right."""
        return None if self.choice is None else SCALES[self.scale][self.choice]

    @property
    def level(self) -> ScaleLevel | None:
        """The answer as test against base."""
        return None if self.score is None else SCALES[self.scale][self.score]

    @property
    def active_s(self) -> float:
        return self.active_ms / 1000


class RaterState(models.TextChoices):
    PAUSED = "paused", _("Paused")
    RESTORED = "restored", _("Restored")
    EXCLUDED = "excluded", _("Excluded")
    WITHDRAWN = "withdrawn", _("Consent withdrawn")


LEFT_OUT = (RaterState.EXCLUDED, RaterState.WITHDRAWN)
"""For good: the pairs were assigned to others."""


class RaterStatus(models.Model):
    """A rater of a comparison whom a manager has to decide about, or has decided about.

    No judgement of a rater counts while they are paused, or after they were excluded or withdrew their answers; the
    report says how many there are.
    """

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="statuses")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=9, choices=RaterState.choices, default=RaterState.PAUSED)
    paused_at = models.DateTimeField(null=True, blank=True)
    checks_from = models.DateTimeField(null=True, blank=True, help_text="Earlier attention items are forgiven.")
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    note = models.TextField(blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["comparison", "person"], name="status_once_per_rater"),
            models.CheckConstraint(condition=Q(state__in=RaterState.values), name="status_state_known"),
        ]

    def __str__(self) -> str:
        return f"rater {self.person_id} of comparison {self.comparison_id}: {self.state}"
