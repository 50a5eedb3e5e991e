"""Captioning models and the captions they made, imported for now."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from corpus.models import Image
from languages.models import Language


class CaptioningModel(models.Model):
    name = models.CharField(max_length=120, unique=True)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name


class ModelCaption(models.Model):
    """What one model says of one image in one language. Never edited: ratings refer to its wording."""

    model = models.ForeignKey(CaptioningModel, on_delete=models.PROTECT, related_name="captions")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="model_captions")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["model", "image", "language"], name="model_caption_once"),
            models.CheckConstraint(condition=~models.Q(text=""), name="model_caption_not_empty"),
        ]

    def __str__(self) -> str:
        # Not its words: they are seen in no list.
        return str(self.pk)
