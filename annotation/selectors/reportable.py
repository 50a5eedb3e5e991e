"""Items of people's own batches, for those who report their images."""

from __future__ import annotations

from uuid import UUID

from django.shortcuts import get_object_or_404
from django.urls import reverse

from annotation.models import CaptionItem, Stage, Verdict
from annotation.permissions import batch_for, ratings_for
from core.conversation.permissions import ReportableItem
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
    return ReportableItem(round.project, round.language, verdict.caption.image, url, is_skipped=is_open)
