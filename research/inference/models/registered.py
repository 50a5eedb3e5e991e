"""What can be registered: captioning models, translators and encoders."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from django.db import models
from django.db.models import Q

from core.people.models import Owned
from core.people.models.names import NameField
from research.inference.backends.captioners import ModelSpec

IMPORTED = "imported"
"""The backend of models whose captions come from files. It cannot be run."""

TRANSLATED = "translated"
"""The backend of models that are another model's English captions, translated by a machine (TGT)."""


def named_once(kind: str) -> list[models.BaseConstraint]:
    """Build the constraints on names: once per project, among what is shared, and among what is its maker's alone."""
    return [
        models.UniqueConstraint(fields=["project", "name"], name=f"{kind}_named_once_per_project"),
        models.UniqueConstraint(fields=["name"], condition=Q(is_shared=True), name=f"{kind}_named_once_among_shared"),
        models.UniqueConstraint(
            fields=["created_by", "name"],
            condition=Q(project=None, is_shared=False),
            name=f"{kind}_named_once_per_maker",
        ),
    ]


class RegisteredModel(Owned):
    """What backends make usable: a model, a translator or an encoder."""

    name = NameField(max_length=120)
    description = models.TextField(blank=True)
    options = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    backend: models.CharField[str, str]
    source: models.CharField[str, str]

    class Meta:
        abstract = True
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def spec(self) -> ModelSpec:
        """What its backend loads it by."""
        return ModelSpec(self.name, self.source, self.options)


class Translator(RegisteredModel):
    """A machine translation model, which translates English captions into other languages."""

    backend = models.CharField(max_length=40, help_text="A name of research.inference.backends.registry.translators().")
    source = models.CharField(max_length=500, help_text="Folder, model of the hub with its commit, or endpoint.")

    class Meta(RegisteredModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = named_once("translator")


class CaptioningModel(RegisteredModel):
    """The author of captions: a registered model with the decoding that all its runs use.

    What is decoded otherwise is another model, `variant_of` the first. `decoding` is empty until the first run; see
    `research.inference.backends.captioners.Decoding` for what it holds then.
    """

    backend = models.CharField(
        max_length=40, default=IMPORTED, help_text="A name of research.inference.backends.registry.backends()."
    )
    source = models.CharField(
        max_length=500, blank=True, help_text="Folder, model of the hub with its commit, or endpoint."
    )
    options = models.JSONField(default=dict, blank=True, help_text="As the backend understands them.")
    is_pivot = models.BooleanField(
        default=False, help_text="Whether it writes an English stabiliser and a separator before each caption."
    )
    english_model = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="translated_models"
    )
    translator = models.ForeignKey(Translator, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    variant_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="variants")
    decoding = models.JSONField(default=dict, blank=True)
    retired_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when nothing new is made with it. What it made stays."
    )

    class Meta(RegisteredModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *named_once("captioning_model"),
            models.CheckConstraint(
                condition=Q(backend=TRANSLATED, english_model__isnull=False, translator__isnull=False)
                | (~Q(backend=TRANSLATED) & Q(english_model__isnull=True, translator__isnull=True)),
                name="captioning_model_translated_from_and_by",
            ),
            models.UniqueConstraint(
                fields=["variant_of", "decoding"],
                condition=Q(variant_of__isnull=False),
                name="captioning_model_variant_once_per_decoding",
            ),
        ]

    def family(self) -> list[CaptioningModel]:
        """The model that this one is a variant of, or itself, with all variants: they have one owner."""
        base = self.variant_of or self
        return [base, *base.variants.all()]

    @property
    def spec(self) -> ModelSpec:
        return replace(super().spec, is_pivot=self.is_pivot)

    @property
    def runner(self) -> CaptioningModel | Translator:
        """What a backend loads to make its captions: itself, or its translator."""
        return self.translator or self


class Encoder(RegisteredModel):
    """Makes vectors of images or captions. `signature` and what follows from it are known after the first load.

    Vectors are compared only where `space` is the same.
    """

    backend = models.CharField(max_length=40, help_text="A name of research.inference.backends.registry.encoders().")
    source = models.CharField(max_length=500, blank=True)
    signature = models.CharField(max_length=120, blank=True)
    space = models.CharField(max_length=120, blank=True)
    dimensions = models.PositiveIntegerField(null=True, blank=True)

    class Meta(RegisteredModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = named_once("encoder")
