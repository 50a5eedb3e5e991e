"""What reviewers of captions see: images, captions and levels; never the authors nor others' ratings."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, QuerySet

from annotation.models import (
    DECIDED,
    Caption,
    CaptionItem,
    CaptionState,
    Round,
    RoundKind,
    RoundState,
    SecondReading,
    Stage,
    Verdict,
    VerificationBatch,
)
from annotation.permissions import REVIEWER_ROLES
from annotation.selectors.work import RoundWork, batch_head, rating_page, works_of
from core.allocation.models import NOT_SHOWN, BatchState
from core.allocation.selectors import open_and_resumable
from core.images.models import CollectionImage
from core.people.models import Membership, User
from research.inference.selectors import assigned_work


def captions_by_image(round: Round) -> dict[str, list[int]]:
    """Yield the captions of a round that figures are computed from, by the key of their image, in an order that is
    the same in every database.

    An image that was removed from the collection since has its hash for a key.
    """
    keys = dict(CollectionImage.objects.filter(collection=round.collection_id).values_list("image", "key"))
    counted = Caption.objects.in_results().filter(round=round).order_by()
    columns = ("submitted_at", "position", "text", "author__username", "pk", "image", "image__sha256")
    captions = defaultdict(list)
    rows = sorted(counted.values_list(*columns), key=lambda row: (*row[:3], row[3] or "", row[4]))
    for *_, pk, image, digest in rows:
        captions[keys.get(image, digest)].append(pk)
    return captions


def to_rate(batch: VerificationBatch) -> QuerySet[Verdict]:
    """Return the captions to work on: in a resumed batch, those whose place was still free."""
    return Verdict.objects.filter(batch=batch).exclude(assignment__state__in=NOT_SHOWN).order_by("position")


def images_being_rated(person: User) -> QuerySet[Verdict, int]:
    """Return images of which `person` has somebody's caption to rate, or may resume rating one."""
    unfinished = Verdict.objects.filter(person=person, batch__submitted_at=None)
    return unfinished.exclude(batch__round__state__in=DECIDED).values_list("caption__image", flat=True)


def images_to_write_about(person: User) -> QuerySet[CaptionItem, int]:
    """Return images that `person` writes about, or may resume: they must not rate others' captions of them."""
    unfinished = CaptionItem.objects.filter(person=person).exclude(batch__stage=Stage.SUBMITTED)
    let_go = Q(batch__lease__state__in=(BatchState.RETURNED, BatchState.EXPIRED))
    is_over = let_go & Q(batch__round__state__in=(RoundState.CLOSED, *DECIDED))
    return unfinished.exclude(is_over).values_list("image", flat=True)


def not_for(reviewer: User) -> Q:
    """Return tasks that must not be assigned to `reviewer`.

    None with a caption that they wrote, or read for a manager, and none of an image assigned to them in any kind of
    work: a caption must not show them what they have to write, judge or guess themselves.
    """
    image = "verification_task__caption__image"
    return (
        Q(verification_task__caption__author=reviewer)
        | ~Q(verification_task__caption__state=CaptionState.COUNTED)
        | Q(verification_task__caption__in=SecondReading.objects.filter(reader=reviewer).values("caption"))
        | Q(**{f"{image}__in": images_to_write_about(reviewer)})
        | assigned_work.is_kept_from(reviewer, image, besides="annotation")
    )


def ratings_page(batch: VerificationBatch, viewer: User, now: datetime) -> dict[str, Any]:
    verdicts = to_rate(batch).select_related("caption__image")
    return rating_page(batch, [(one, one.caption.image, one.caption.text) for one in verdicts], viewer, now)


def rating_work_of(reviewer: User, now: datetime) -> list[RoundWork]:
    """Open rounds in which `reviewer` can rate captions of their languages, and closed ones with an open batch."""
    projects = Membership.objects.filter(user=reviewer, role__in=REVIEWER_ROLES).values("project")
    unfinished = (
        VerificationBatch.with_heads()
        .filter(lease__person=reviewer, submitted_at=None, round__project__in=projects)
        .annotate(size=Count("verdicts", filter=~Q(verdicts__assignment__state__in=NOT_SHOWN)))
        .order_by("-lease__taken_at")
    )
    heads = [(batch.round_id, batch_head(batch, size=batch.size, now=now)) for batch in unfinished]
    assigned, resumable = open_and_resumable(
        (pk, head) for pk, head in heads if head.is_open or head.round.state == RoundState.OPEN
    )
    offered = Q(
        state=RoundState.OPEN, language__in=reviewer.language_skills.values("language"), project__archived_at=None
    )
    rounds = list(
        Round.objects.filter(kind=RoundKind.VERIFICATION, project__in=projects)
        .filter(offered | Q(pk__in=assigned))
        .select_related("project", "language", "pool", "verifies")
    )
    return works_of(reviewer, rounds, VerificationBatch.objects.all(), assigned, resumable, without=not_for(reviewer))


def has_captions_to_rate(reviewer: User, now: datetime) -> bool:
    return any(work.has_something_to_do for work in rating_work_of(reviewer, now))
