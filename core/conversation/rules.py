"""What can be wrong with an image, and where questions come from."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class ReportReason(models.TextChoices):
    BROKEN = "broken", _("The image is broken")
    OFFENSIVE = "offensive", _("It is offensive")
    LANGUAGE = "language", _("The caption is in another language")
    WRONG_IMAGE = "wrong_image", _("It is the wrong image")
    INDESCRIBABLE = "indescribable", _("It cannot be described")


class MessageOrigin(models.TextChoices):
    """Where somebody wrote to managers, if not on the page for messages or about an image or feedback."""

    PRACTICE = "practice", _("Practice")
    SKIPPED_SENTENCE = "skipped", _("Skipped sentence")
