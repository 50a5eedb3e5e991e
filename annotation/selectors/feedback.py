"""Managers' feedback: to an annotator, who reads it, and about a round, for managers to look back on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from annotation.models import Feedback, Round
from annotation.permissions import readable_feedback
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import LanguageSkill, Membership, Project, Role, User

MAX_SHOWN = 100


@dataclass(frozen=True)
class FeedbackNote:
    """Feedback as its annotator sees it: on a caption of theirs, with the image, or in general. Never in English."""

    id: int
    project: Project
    language: Language
    round_title: str
    by: str
    at: datetime
    text: str
    acknowledged_at: datetime | None
    caption: str
    image: ServedImage | None


def notes_to(person: User) -> list[FeedbackNote]:
    """List feedback, unread first, then the newest first."""
    messages = list(_with_all_it_needs(readable_feedback(person)).order_by("-at", "-pk")[:MAX_SHOWN])
    messages.sort(key=lambda one: one.acknowledged_at is not None)
    return [_note(one, person) for one in messages]


def note_to(person: User, feedback_id: int) -> FeedbackNote | None:
    """Return one message; None for everybody else, and while the image is assigned to them."""
    message = _with_all_it_needs(readable_feedback(person)).filter(pk=feedback_id).first()
    return _note(message, person) if message else None


def unread(person: User) -> int:
    """Count what is unread."""
    return readable_feedback(person).filter(acknowledged_at=None).count()


def given_in(round: Round) -> Sequence[Feedback]:
    """List the feedback on a round, the newest first."""
    given = Feedback.objects.filter(round=round).select_related("person", "by", "caption")
    return list(given.order_by("-at", "-pk")[:MAX_SHOWN])


def readers_by_language(project: Project, tags: Collection[str]) -> dict[str, set[int]]:
    """Return the annotators who know each language, and so can get feedback about its rounds."""
    annotators = Membership.objects.filter(project=project, role=Role.ANNOTATOR)
    skills = LanguageSkill.objects.filter(language__in=tags, user__in=annotators.values("user"))
    readers: dict[str, set[int]] = defaultdict(set)
    for tag, person in skills.values_list("language", "user"):
        readers[tag].add(person)
    return readers


def _with_all_it_needs(feedback: QuerySet[Feedback]) -> QuerySet[Feedback]:
    return feedback.select_related("project", "round__language", "round__verifies", "by", "caption__image")


def _note(message: Feedback, person: User) -> FeedbackNote:
    caption = message.caption
    return FeedbackNote(
        id=message.pk,
        project=message.project,
        language=message.round.language,
        round_title=message.round.title,
        by=message.by.username,
        at=message.at,
        text=message.text,
        acknowledged_at=message.acknowledged_at,
        caption=caption.text if caption else "",
        image=served_image(caption.image, person) if caption else None,
    )
