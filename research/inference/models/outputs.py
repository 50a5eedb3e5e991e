"""What runs make: captions with the stabilisers before them, and embeddings; and word vectors."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Image, ImportJob
from core.languages.models import Language
from research.inference.models.registered import CaptioningModel, Encoder
from research.inference.models.work import Run


class ModelCaptionQuerySet(models.QuerySet["ModelCaption"]):
    def in_use(self) -> ModelCaptionQuerySet:
        """Leave out captions that are switched off: nobody gets them in new work, and nothing is made of them."""
        return self.filter(switched_off_at__isnull=True)

    def switched_off(self) -> ModelCaptionQuerySet:
        return self.filter(switched_off_at__isnull=False)


class ModelCaption(models.Model):
    """A model's caption of one image in one language. Never edited: ratings refer to its wording.

    One that is switched off stays where it was rated, compared or scored. Only new work does without it: `in_use`.
    """

    model = models.ForeignKey(CaptioningModel, on_delete=models.PROTECT, related_name="captions")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="model_captions")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    stabiliser = models.TextField(blank=True, help_text="The English words a pivot-stabilised model wrote before it.")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, blank=True, related_name="captions")
    import_job = models.ForeignKey(
        ImportJob, on_delete=models.SET_NULL, null=True, blank=True, db_index=False, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    switched_off_at = models.DateTimeField(null=True, blank=True)
    switched_off_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    switched_off_reason = models.CharField(max_length=500, blank=True, default="", db_default="")

    objects = ModelCaptionQuerySet.as_manager()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["model", "image", "language"], name="model_caption_once"),
            models.CheckConstraint(condition=~models.Q(text=""), name="model_caption_not_empty"),
            models.CheckConstraint(
                condition=Q(switched_off_at=None, switched_off_by=None, switched_off_reason="")
                | (Q(switched_off_at__isnull=False) & ~Q(switched_off_reason="")),
                name="model_caption_off_for_a_reason",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["image", "language"], condition=Q(switched_off_at__isnull=False), name="model_caption_off"
            ),
            models.Index(fields=["import_job"], condition=Q(import_job__isnull=False), name="model_caption_imported"),
            # To find the images of a collection that have no English caption, whichever model would write it.
            models.Index(
                fields=["image", "model"],
                condition=Q(language="en", switched_off_at__isnull=True),
                name="model_caption_english_in_use",
            ),
        ]

    def __str__(self) -> str:
        # Not its words: they are seen in no list.
        return str(self.pk)


class Stabiliser(models.Model):
    """Text that a pivot-stabilised model decodes once for an image, without a language, and keeps for all languages."""

    model = models.ForeignKey(CaptioningModel, on_delete=models.PROTECT, related_name="+")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["model", "image"], name="stabiliser_once_per_image"),
            models.CheckConstraint(condition=~Q(text=""), name="stabiliser_not_empty"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class WeightPrecision(models.TextChoices):
    FLOAT16 = "float16", _("16 bits per number")
    FLOAT32 = "float32", _("32 bits per number")


BYTES = {WeightPrecision.FLOAT16: 2, WeightPrecision.FLOAT32: 4}


class EmbeddingSet(models.Model):
    """The vectors of one encoder for a collection's images, or for one model's captions of them in one language.

    Each chunk's vectors lie in storage by themselves until all are there; then `file` holds them together, with the
    ids of the images beside them. `digest` is of that content. It is made by `run`, and read memory-mapped.
    """

    encoder = models.ForeignKey(Encoder, on_delete=models.PROTECT, related_name="sets")
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="embeddings")
    captions_of = models.ForeignKey(
        CaptioningModel,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The model whose captions were encoded; empty if images were.",
    )
    language = models.ForeignKey(Language, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    precision = models.CharField(max_length=7, choices=WeightPrecision.choices, default=WeightPrecision.FLOAT16)
    dimensions = models.PositiveIntegerField(null=True, blank=True)
    rows = models.PositiveIntegerField(default=0)
    file = models.CharField(max_length=200, blank=True, help_text="Name in storage, once it is complete.")
    digest = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["-pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(captions_of__isnull=True, language__isnull=True)
                | Q(captions_of__isnull=False, language__isnull=False),
                name="embedding_set_of_images_or_of_captions",
            ),
            models.CheckConstraint(
                condition=Q(precision__in=WeightPrecision.values), name="embedding_set_precision_known"
            ),
        ]

    def __str__(self) -> str:
        return f"embeddings {self.pk} by encoder {self.encoder_id}"

    @property
    def subject(self) -> str:
        if self.captions_of is None or self.language is None:
            return gettext("Images")
        values = {"model": self.captions_of.name, "language": self.language.name}
        return gettext("Captions of “%(model)s”, %(language)s") % values

    @property
    def bytes(self) -> int | None:
        """The size of the vectors alone; None if it is not known yet."""
        return self.rows * self.dimensions * BYTES[WeightPrecision(self.precision)] if self.dimensions else None


class VectorKind(models.TextChoices):
    TABLE = "table", _("table of words")
    ENCODER = "encoder", _("model, for any word")


class WordVectorSet(models.Model):
    """Word vectors that scores may name. The signature follows from their content, which is never changed."""

    name = models.CharField(max_length=120)
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=7, choices=VectorKind.choices)
    dimensions = models.PositiveIntegerField()
    words = models.PositiveIntegerField(null=True, help_text="empty for a model, which takes any word")
    signature = models.CharField(max_length=64, unique=True)
    source = models.TextField(help_text="source and licence")
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["name", "language"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["name", "language"], name="word_vectors_named_once_per_language"),
            models.CheckConstraint(condition=models.Q(dimensions__gte=1), name="word_vectors_have_dimensions"),
            models.CheckConstraint(
                condition=models.Q(kind=VectorKind.TABLE, words__isnull=False, words__gte=1)
                | models.Q(kind=VectorKind.ENCODER, words__isnull=True),
                name="word_vectors_of_a_table_are_counted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.language_id})"
