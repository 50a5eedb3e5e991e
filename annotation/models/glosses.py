"""English translations of captions and messages by a machine, for managers who do not read the language."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.captions import Caption
from core.conversation.models import ThreadMessage
from core.jobs.models import OPEN_STATES, Job
from core.languages.models import Language
from core.people.models import Project
from research.inference.models import Translator


class GlossRequest(Job):
    """A manager's request to translate what people write in one language of a project; `keeps_up`: later texts, too."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    translator = models.ForeignKey(Translator, on_delete=models.PROTECT, related_name="+")
    keeps_up = models.BooleanField(default=False)
    described = models.JSONField(default=dict, blank=True, help_text="What the loaded translator said of itself.")
    queue = models.CharField(max_length=40, help_text="The Celery queue of the workers that can do it.")
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    traceback = models.TextField(blank=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "language"], name="gloss_request_once_per_language"),
        ]

    def __str__(self) -> str:
        return f"glosses of {self.language_id} in project {self.project_id}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES


class Gloss(models.Model):
    """A text in English as a machine translated it, or the reason why it did not. Annotators never see it."""

    translator = models.ForeignKey(Translator, on_delete=models.PROTECT, related_name="+")
    version = models.CharField(max_length=200, help_text="Of the translator, as it described itself.")
    text = models.TextField(blank=True)
    problem = models.TextField(blank=True, help_text="Why there is no text.")
    made_at = models.DateTimeField()

    class Meta:
        abstract = True


_TEXT_OR_PROBLEM = (Q(text="") & ~Q(problem="")) | (~Q(text="") & Q(problem=""))


class CaptionGloss(Gloss):
    """A caption in English."""

    caption = models.OneToOneField(Caption, on_delete=models.CASCADE, related_name="gloss")

    class Meta:
        # PostgreSQL would keep the names of indexes and constraints of a table that is renamed.
        db_table = "annotation_gloss"
        verbose_name_plural = "glosses"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=_TEXT_OR_PROBLEM, name="gloss_or_problem"),
        ]

    def __str__(self) -> str:
        return f"of caption {self.caption_id}"


class MessageGloss(Gloss):
    """A message to managers in English, or the comment of a report."""

    message = models.OneToOneField(ThreadMessage, on_delete=models.CASCADE, related_name="gloss")

    class Meta:
        verbose_name_plural = "glosses of messages"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=_TEXT_OR_PROBLEM, name="message_gloss_or_problem"),
        ]

    def __str__(self) -> str:
        return f"of message {self.message_id}"
