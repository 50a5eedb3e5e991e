"""A language as the platform knows it. A migration seeds the 36 of Crossmodal-3600; any other can be added."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext


class TextDirection(models.TextChoices):
    LTR = "ltr", "left to right"
    RTL = "rtl", "right to left"


class Language(models.Model):
    tag = models.CharField("BCP-47 tag", max_length=35, primary_key=True)
    english_name = models.CharField(max_length=80)
    own_name = models.CharField(max_length=80)
    direction = models.CharField(max_length=3, choices=TextDirection.choices, default=TextDirection.LTR)
    spaced = models.BooleanField("spaces separate words", default=True)
    scripts = models.JSONField(
        default=list,
        blank=True,
        help_text="ISO 15924 codes of the scripts it is written in, such as Latn; empty: not checked.",
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["english_name"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(Lower("tag"), name="language_tag_unique_whatever_case"),
            models.CheckConstraint(
                condition=models.Q(direction__in=TextDirection.values), name="language_direction_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """What it is called in the language of the page; in English where no translation is known."""
        return gettext(self.english_name)
