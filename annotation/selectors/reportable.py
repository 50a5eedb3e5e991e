"""Items of people's own batches, for those who report their images."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q
from django.shortcuts import get_object_or_404
from django.urls import reverse

from annotation.models import CaptionItem, CaptionState, Stage, Verdict
from annotation.permissions import batch_for, ratings_for
from core.conversation.permissions import ItemPlace, ReportableItem, SeenCaption, SeenCaptions
from core.people.models import User


def described(person: User, batch_id: UUID, position: int) -> ReportableItem:
    """Return an image to rate the caption of, or to write about."""
    batch = batch_for(person, batch_id)
    item = get_object_or_404(CaptionItem.objects.select_related("image"), batch=batch_id, position=position)
    return ReportableItem(
        batch.round.project,
        batch.round.language,
        item.image,
        reverse("annotation:batch-show", args=[batch_id]),
        is_on_screen_1=batch.stage == Stage.RATE,
        is_skipped=batch.stage != Stage.SUBMITTED,
    )


def rated(person: User, batch_id: UUID, position: int) -> ReportableItem:
    """Return the image of a caption of somebody else's."""
    batch = ratings_for(person, batch_id)
    verdict = get_object_or_404(Verdict.objects.select_related("caption__image"), batch=batch_id, position=position)
    url = reverse("annotation:verification-show", args=[batch_id])
    round, is_open = batch.round, batch.submitted_at is None
    about = (round.project, round.language, verdict.caption.image, url)
    return ReportableItem(*about, is_caption_judged=True, is_skipped=is_open)


def described_captions(_reader: User, places: Collection[ItemPlace]) -> SeenCaptions:
    """Return the English captions of screen 1."""
    items = CaptionItem.objects.filter(_among(places)).select_related("english__language")
    return {(one.batch_id, one.position): [SeenCaption(one.english.text, one.english.language)] for one in items}


def rated_captions(_reader: User, places: Collection[ItemPlace]) -> SeenCaptions:
    """Return captions by other people, with their glosses; none whose author withdrew consent."""
    verdicts = Verdict.objects.filter(_among(places)).exclude(caption__state=CaptionState.WITHDRAWN)
    verdicts = verdicts.select_related("caption__round__language", "caption__gloss__translator")
    return {
        (one.batch_id, one.position): [
            SeenCaption(one.caption.text, one.caption.round.language, getattr(one.caption, "gloss", None))
        ]
        for one in verdicts
    }


def _among(places: Collection[ItemPlace]) -> Q:
    """Build a condition that is true at all `places`, and at others of the same batches."""
    return Q(batch__in={batch for batch, _position in places}, position__in={position for _batch, position in places})
