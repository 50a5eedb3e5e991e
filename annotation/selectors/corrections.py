"""Captions that were returned, as their authors see them: never with an English caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.models import Caption, CaptionItem, CaptionState, CorrectionRequest, RoundState
from annotation.permissions import TO_REWRITE
from annotation.rules import text_checks
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import Membership, Project, Role, User
from research.inference.selectors import assigned_work


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
    """What the author sees on the page of a returned caption."""
    last = caption.corrections.latest("at")
    is_hidden = Caption.objects.filter(
        assigned_work.is_assigned(author, "image", besides=TO_REWRITE), pk=caption.pk
    ).exists()
    return CaptionRewriting(
        caption_id=caption.pk,
        project=caption.round.project,
        language=caption.round.language,
        image=None if is_hidden else served_image(caption.image, author),
        note=last.note,
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
