"""Models' captions, and the stabilisers before them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from core.images.models import Image
from core.languages.models import Language
from research.inference.models.registered import CaptioningModel
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
