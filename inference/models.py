"""Captioning models and the captions they made, imported for now; word vectors, which lie in files."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

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
    source = models.TextField(help_text="where they come from, and under which licence")
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
