"""Managers' feedback and captions that were returned, as their annotators see them: never with an English caption.

Managers look back on the feedback about a round, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, QuerySet

from annotation.models import (
    Caption,
    CaptionItem,
    CaptionState,
    CorrectionRequest,
    Feedback,
    Round,
    RoundState,
    SecondReading,
)
from annotation.permissions import is_kept_from_author, readable_feedback
from annotation.rules import text_checks
from annotation.selectors.beside_captions import CaptionBeside, counted_verdicts, with_what_is_beside
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import LanguageSkill, Membership, Project, Role, User
from research.inference.selectors import assigned_work

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


def given_in(round: Round) -> list[tuple[Feedback, CaptionBeside | None]]:
    """List the feedback on a round, the newest first, with the caption that it is about."""
    about = ("caption__gloss__translator", "caption__item", "caption__round")
    given = Feedback.objects.filter(round=round).select_related("person", "by", *about)
    verdicts = Prefetch("caption__verdicts", counted_verdicts())
    notes = list(given.prefetch_related(verdicts).order_by("-at", "-pk")[:MAX_SHOWN])
    captions = {note.caption.pk: note.caption for note in notes if note.caption}
    beside = {row.caption.pk: row for row in with_what_is_beside(list(captions.values()))}
    return [(note, beside.get(note.caption_id or 0)) for note in notes]


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


@dataclass(frozen=True)
class CaptionRewriting:
    """A caption that its author has to rewrite, or has. `image` is None while it is assigned to them elsewhere."""

    caption_id: int
    project: Project
    language: Language
    image: ServedImage | None
    note: str
    text: str
    guidelines_version: int
    is_waiting: bool


def warnings_for(caption: Caption, text: str) -> Sequence[text_checks.CaptionFault]:
    """Run the soft checks on `text` in place of a caption's, against its author's other captions.

    Similarity to the English caption is recorded for managers and not shown: an author could try one text after
    another.
    """
    item = caption.item
    if item is None:
        return []
    others = CaptionItem.objects.filter(batch=item.batch_id).exclude(pk=item.pk).exclude(text="")
    return text_checks.soft_warnings(
        text,
        language=caption.round.language,
        others=list(others.values_list("text", flat=True)),
    )


def caption_to_rewrite(caption: Caption, author: User) -> CaptionRewriting:
    """What the author sees of a returned caption.

    Where the image is kept back, so is the note: it may quote the English caption.
    """
    last = caption.corrections.latest("at")
    is_hidden = Caption.objects.filter(is_kept_from_author(author, "image"), pk=caption.pk).exists()
    return CaptionRewriting(
        caption_id=caption.pk,
        project=caption.round.project,
        language=caption.round.language,
        image=None if is_hidden else served_image(caption.image, author),
        note="" if is_hidden else last.note,
        text=caption.text,
        guidelines_version=caption.round.guidelines.version,
        is_waiting=caption.state == CaptionState.RETURNED,
    )


def images_to_rewrite(person: User) -> QuerySet[Caption, int]:
    """Return the images that `person` has to rewrite captions of: they may not see others' captions until then."""
    here = Membership.objects.filter(user=person, role=Role.ANNOTATOR).values("project")
    waiting = Caption.objects.filter(author=person, state=CaptionState.RETURNED, round__project__in=here)
    return waiting.exclude(round__state=RoundState.REJECTED).values_list("image", flat=True)


def to_rewrite(author: User) -> QuerySet[CorrectionRequest]:
    """List the requests to `author` to rewrite a caption, the oldest first."""
    return (
        CorrectionRequest.objects.filter(answered_at=None, caption__author=author, caption__state=CaptionState.RETURNED)
        .select_related("caption__round__project", "caption__round__language")
        .defer("caption__round__project__description")
        .order_by("at", "pk")
    )


def to_read(person: User) -> QuerySet[SecondReading]:
    """List the captions that a manager asked `person` about and that they have not answered, the oldest first."""
    waiting = SecondReading.objects.filter(reader=person, answered_at=None, caption__state=CaptionState.COUNTED)
    waiting = waiting.exclude(assigned_work.is_assigned(person, "caption__image"))
    return waiting.select_related("caption__round__project", "caption__round__language")
