"""Advice of a second reader about a caption, for a manager. It counts for nothing else."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.models.captions import Caption


class ReadingAnswer(models.TextChoices):
    FINE = "fine", pgettext_lazy("of a caption", "Fine")
    WRONG = "wrong", pgettext_lazy("of a caption", "Wrong")
    CANNOT_SAY = "cannot-say", _("Cannot say")


class SecondReading(models.Model):
    """A person who knows the language was asked about a caption by somebody else, and perhaps answered."""

    caption = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="readings")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="readings")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    answer = models.CharField(max_length=10, choices=ReadingAnswer.choices, blank=True)
    comment = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["asked_at", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["caption", "reader"], name="reading_once_per_person"),
            models.CheckConstraint(condition=Q(answer__in=["", *ReadingAnswer.values]), name="reading_answer_known"),
            models.CheckConstraint(
                condition=Q(answer="", comment="", answered_at__isnull=True)
                | (~Q(answer="") & Q(answered_at__isnull=False)),
                name="reading_answered_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"caption {self.caption_id} by {self.reader_id}"
