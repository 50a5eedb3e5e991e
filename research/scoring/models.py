"""Reference captions, scorings against them, and their scores, which stay when they are outdated."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection, Image, ImportJob, is_left_out
from core.jobs.models import OPEN_STATES, Job
from core.languages.models import Language
from core.people.models import Project
from core.people.models.names import NameField
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder, Translator, WordVectorSet


class ReferenceKind(models.TextChoices):
    IMPORTED = "imported", _("From a file")
    COLLECTED = "collected", _("Written in this project")
    TRANSLATED = "translated", _("Translated from English")
    MIXED = "mixed", _("Written by people and translated from English")
    NONE = "none", _("None: images without captions")


class ReferenceSet(models.Model):
    """Captions by people of a collection's images in one language, against which models' captions are scored.

    `digest` is of all its captions by image; it changes with them, in the same transaction. One of the kind NONE has no
    captions: it stands for all images of the collection, for metrics that need no references.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reference_sets")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="+")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    name = NameField(max_length=120)
    kind = models.CharField(max_length=10, choices=ReferenceKind.choices)
    source = models.TextField(blank=True, help_text="Where the captions come from, and under which licence.")
    origin = models.CharField(max_length=64, blank=True, help_text="Its source, such as “round 7”; empty for a file.")
    is_evaluation = models.BooleanField(
        default=False, help_text="Whether models are evaluated on its images, so that none may be trained on them."
    )
    images = models.PositiveIntegerField(default=0)
    captions = models.PositiveIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True)
    changed_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "language", "name"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "language", "name"], name="reference_set_named_once"),
            models.UniqueConstraint(
                fields=["project", "origin"], condition=~Q(origin=""), name="reference_set_once_per_origin"
            ),
            models.CheckConstraint(condition=Q(kind__in=ReferenceKind.values), name="reference_set_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.language_id})"

    @property
    def is_without_captions(self) -> bool:
        return self.kind == ReferenceKind.NONE

    @property
    def usual_tokenizer(self) -> str:
        return Tokenizer.WHITESPACE if self.language.spaced else Tokenizer.ICU

    def image_ids(self) -> models.QuerySet[Any, Any]:
        """The images that are scored: those with captions, or those of the collection where there are none.

        Images left out of results are in neither.
        """
        if self.is_without_captions:
            return self.collection.entries.in_results().order_by().values("image")
        return Reference.objects.in_results().filter(reference_set=self).order_by().values("image")


class ReferenceQuerySet(models.QuerySet["Reference"]):
    def in_results(self) -> ReferenceQuerySet:
        """Return those that captions are scored against: of images that are not left out of results."""
        return self.filter(~is_left_out(collection="reference_set__collection"))

    def texts_by_image(self) -> dict[int, list[str]]:
        """Read the texts of each image, in their order, by its primary key."""
        texts: dict[int, list[str]] = defaultdict(list)
        for image, text in self.order_by("image", "position").values_list("image_id", "text"):
            texts[image].append(text)
        return texts


class Reference(models.Model):
    """One reference caption, in NFC."""

    reference_set = models.ForeignKey(ReferenceSet, on_delete=models.CASCADE, related_name="references")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField(help_text="Among the captions of the image, from 1.")
    text = models.TextField()

    objects = ReferenceQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["reference_set", "image", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["reference_set", "image", "position"], name="reference_once_per_position"),
            models.CheckConstraint(condition=~Q(text=""), name="reference_not_empty"),
        ]

    def __str__(self) -> str:
        # Not its words: they are seen in no list.
        return str(self.pk)


class ImportedReferences(models.Model):
    """What an import did to the captions of an image: `before` are those that it replaced, for whoever undoes it."""

    job = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="+")
    reference_set = models.ForeignKey(ReferenceSet, on_delete=models.CASCADE, related_name="+")
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")
    before = models.JSONField(default=list)

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]

    def __str__(self) -> str:
        return f"image {self.image_id} in import {self.job_id}"


class ReferenceTranslation(Job):
    """A request to translate English references into one language, image by image in the order of their primary keys.

    With `mixed_with`, the captions of people there are put before the translations. The digests are those of what was
    read, as it was at the beginning; `cursor` is the last image that is done.
    """

    made = models.OneToOneField(ReferenceSet, on_delete=models.CASCADE, related_name="translation")
    english = models.ForeignKey(ReferenceSet, on_delete=models.SET_NULL, null=True, related_name="+")
    mixed_with = models.ForeignKey(ReferenceSet, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    is_mixed = models.BooleanField(default=False)
    translator = models.ForeignKey(Translator, on_delete=models.PROTECT, related_name="+")
    decoding = models.JSONField(default=dict)
    described = models.JSONField(default=dict, blank=True, help_text="What the loaded translator said of itself.")
    queue = models.CharField(max_length=40, help_text="The Celery queue of the workers that can do it.")
    english_digest = models.CharField(max_length=64, blank=True)
    mixed_digest = models.CharField(max_length=64, blank=True)
    cursor = models.PositiveBigIntegerField(default=0)
    total = models.PositiveIntegerField(default=0, help_text="Images.")
    done = models.PositiveIntegerField(default=0, help_text="Images.")
    failed = models.PositiveIntegerField(default=0, help_text="Captions that could not be translated.")
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    traceback = models.TextField(blank=True)
    asked_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["state", "lease_until"], condition=Q(state__in=OPEN_STATES), name="ref_translation_to_do"
            ),
        ]

    def __str__(self) -> str:
        return f"translation of references {self.made_id}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES


class Tokenizer(models.TextChoices):
    WHITESPACE = "whitespace", _("Whitespace")
    PTB = "ptb", _("Penn Treebank (needs Java)")
    CHARACTERS = "characters", _("Characters")
    ICU = "icu", _("Words by Unicode's rules (ICU)")


class Scoring(models.Model):
    """A request to score one model's captions by some metrics, now and whenever captions change.

    The metrics are names of `crosslens_metrics.scoring.METRICS`. `vectors` are for metrics that need word vectors;
    `encoder` brings the captions into a space of image features, for CLinRel, CMedRel and WCC.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="scorings")
    model = models.ForeignKey(CaptioningModel, on_delete=models.PROTECT, related_name="+")
    references = models.ForeignKey(ReferenceSet, on_delete=models.PROTECT, related_name="scorings")
    metrics = models.JSONField(default=list)
    tokenizer = models.CharField(max_length=10, choices=Tokenizer.choices)
    normalise = models.BooleanField()
    vectors = models.ForeignKey(WordVectorSet, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    encoder = models.ForeignKey(Encoder, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    english = models.ForeignKey(
        ReferenceSet,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="English references, for CLinRel.",
    )
    english_encoder = models.ForeignKey(
        Encoder,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The English references' licence, if it differs from that of the captions.",
    )
    features = models.ForeignKey(
        EmbeddingSet,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Features of the images, for CMedRel.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["model", "references", "tokenizer", "normalise"], name="scoring_once_per_text_version"
            ),
            models.CheckConstraint(condition=Q(tokenizer__in=Tokenizer.values), name="scoring_tokenizer_known"),
        ]

    def __str__(self) -> str:
        return f"scoring {self.pk} of project {self.project_id}"

    @property
    def text_version(self) -> str:
        """The tokenisation in a few words; empty where nothing is cut into tokens."""
        if self.references.is_without_captions:
            return ""
        name = str(Tokenizer(self.tokenizer).label)
        return gettext("%(tokenizer)s, normalised") % {"tokenizer": name} if self.normalise else name


class Pass(Job):
    """One computation of all metrics of a scoring over the captions as they are then; the newest done one counts.

    `image_ids` are 64-bit integers, little-endian, in the order of the per-image values of its scores.
    """

    scoring = models.ForeignKey(Scoring, on_delete=models.CASCADE, related_name="passes")
    total = models.PositiveIntegerField(default=0, help_text="Metrics to compute.")
    done = models.PositiveIntegerField(default=0)
    images = models.PositiveIntegerField(default=0, help_text="Images with a caption and a reference.")
    left_out = models.PositiveIntegerField(default=0, help_text="Images with references that lack the model's caption.")
    image_ids = models.BinaryField(default=bytes)
    captions_digest = models.CharField(max_length=64, blank=True)
    captions_mark = models.CharField(
        max_length=64, blank=True, help_text="Changes when the model's captions may have changed."
    )
    references_digest = models.CharField(max_length=64, blank=True)
    asked_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["scoring", "-pk"]
        verbose_name_plural = "passes"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["scoring"], condition=Q(state__in=OPEN_STATES), name="pass_one_open_per_scoring"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "lease_until"], condition=Q(state__in=OPEN_STATES), name="pass_to_do"),
        ]

    def __str__(self) -> str:
        return f"pass {self.pk} of scoring {self.scoring_id}"


class Score(models.Model):
    """One metric over the images of a pass. `values` are 64-bit floats, little-endian, one per image of the pass.

    `sums` are such floats too, as many for each image as `crosslens_metrics.sums` asks for, image by image; empty where
    `value` is the mean of `values`.
    """

    scoring_pass = models.ForeignKey(Pass, on_delete=models.CASCADE, related_name="scores")
    metric = models.CharField(max_length=20)
    signature = models.TextField()
    value = models.FloatField(null=True, help_text="On the reference implementation's scale; none where undefined.")
    why_undefined = models.CharField(max_length=200, blank=True)
    notes = models.JSONField(default=list, blank=True, help_text="What the value leaves out or cannot say.")
    values = models.BinaryField(default=bytes)
    sums = models.BinaryField(default=bytes)
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["scoring_pass", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["scoring_pass", "metric"], name="score_once_per_metric"),
            models.CheckConstraint(
                condition=Q(value__isnull=False, why_undefined="") | (Q(value__isnull=True) & ~Q(why_undefined="")),
                name="score_has_a_value_or_says_why_not",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.metric} of pass {self.scoring_pass_id}"
