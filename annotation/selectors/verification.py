"""What raters of captions see: images, captions and levels; never the authors nor others' ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from allocation.models import AssignmentState, BatchState, Task
from annotation.models import (
    DECIDED,
    Caption,
    CaptionItem,
    CaptionState,
    Round,
    RoundKind,
    RoundState,
    Stage,
    Verdict,
    VerificationBatch,
)
from annotation.permissions import RATERS, missing_requirements_of_rounds
from annotation.selectors.work import LevelChoice, level_choices
from images.models import CollectionImage
from images.selectors import ServedImage, served_image
from inference.selectors import assigned_work
from languages.models import Language
from people.models import Membership, Project, User
from people.selectors.qualification import MissingRequirement


@dataclass(frozen=True)
class RatingsHead:
    """The head of every page of a batch of captions to rate."""

    id: UUID
    round: Round
    size: int
    state: BatchState
    deadline: datetime
    submitted_at: datetime | None
    guidelines_version: int
    is_late: bool

    @property
    def project(self) -> Project:
        return self.round.project

    @property
    def language(self) -> Language:
        return self.round.language

    @property
    def is_open(self) -> bool:
        return self.state == BatchState.OPEN and not self.is_late


@dataclass(frozen=True)
class CaptionToRate:
    position: int
    image: ServedImage
    text: str
    rating: str


@dataclass(frozen=True)
class RatingsPage:
    batch: RatingsHead
    items: Sequence[CaptionToRate]
    levels: Sequence[LevelChoice]
    rated: int


@dataclass(frozen=True)
class RatingWork:
    """A verification round as one rater sees it."""

    round: Round
    open_batch: RatingsHead | None
    resumable: Sequence[RatingsHead]
    finished: int
    missing_requirements: Sequence[MissingRequirement]
    is_anything_left: bool

    @property
    def project(self) -> Project:
        return self.round.project

    @property
    def language(self) -> Language:
        return self.round.language


def captions_by_image(round: Round) -> dict[str, list[int]]:
    """Yield the captions of a round that count, by the key of their image, in an order that is the same in every
    database.

    An image that was removed from the collection since has its hash for a key.
    """
    keys = dict(CollectionImage.objects.filter(collection=round.collection_id).values_list("image", "key"))
    counted = Caption.objects.counted().filter(round=round).order_by()
    columns = ("submitted_at", "position", "text", "author__username", "pk", "image", "image__sha256")
    captions = defaultdict(list)
    rows = sorted(counted.values_list(*columns), key=lambda row: (*row[:3], row[3] or "", row[4]))
    for *_, pk, image, digest in rows:
        captions[keys.get(image, digest)].append(pk)
    return captions


def to_rate(batch: VerificationBatch) -> QuerySet[Verdict]:
    """Return the captions to work on: in a resumed batch, those whose place was still free."""
    return (
        Verdict.objects.filter(batch=batch).exclude(assignment__state=AssignmentState.REASSIGNED).order_by("position")
    )


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


def not_for(rater: User) -> Q:
    """Return tasks that must not be assigned to `rater`.

    None with a caption of their own, and none of an image assigned to them in any kind of work: a caption must not show
    them what they have to write, judge or guess themselves.
    """
    image = "verification_task__caption__image"
    return (
        Q(verification_task__caption__author=rater)
        | ~Q(verification_task__caption__state=CaptionState.COUNTED)
        | Q(**{f"{image}__in": images_to_write_about(rater)})
        | assigned_work.is_assigned(rater, image, besides="annotation")
    )


def ratings_head(batch: VerificationBatch, *, size: int, now: datetime) -> RatingsHead:
    lease = batch.lease
    was_late = batch.submitted_at is not None and lease.state != BatchState.DONE
    return RatingsHead(
        id=lease.pk,
        round=batch.round,
        size=size,
        state=BatchState(lease.state),
        deadline=lease.deadline,
        submitted_at=batch.submitted_at,
        guidelines_version=batch.guidelines.version,
        is_late=was_late
        or lease.state == BatchState.EXPIRED
        or (lease.state == BatchState.OPEN and lease.deadline <= now),
    )


def ratings_page(batch: VerificationBatch, viewer: User, now: datetime) -> RatingsPage:
    items = [
        CaptionToRate(
            verdict.position, served_image(verdict.caption.image, viewer), verdict.caption.text, verdict.rating
        )
        for verdict in to_rate(batch).select_related("caption__image")
    ]
    return RatingsPage(
        batch=ratings_head(batch, size=len(items), now=now),
        items=items,
        levels=level_choices(),
        rated=sum(1 for item in items if item.rating),
    )


def rating_work_of(rater: User, now: datetime) -> list[RatingWork]:
    """List the verification rounds in the languages of `rater`, where they have the role, while they are open.

    Other rounds are listed only if the rater has unfinished work in them.
    """
    projects = Membership.objects.filter(user=rater, role__in=RATERS).values("project")
    unfinished = (
        VerificationBatch.objects.filter(lease__person=rater, submitted_at=None, round__project__in=projects)
        .select_related("lease", "round__project", "round__language", "round__verifies", "guidelines")
        .annotate(size=Count("verdicts"))
        .order_by("-lease__taken_at")
    )
    assigned: dict[int, RatingsHead] = {}
    resumable: dict[int, list[RatingsHead]] = defaultdict(list)
    for batch in unfinished:
        head = ratings_head(batch, size=batch.size, now=now)
        if head.is_open:
            assigned[batch.round_id] = head
        elif batch.round.state == RoundState.OPEN:
            resumable[batch.round_id].append(head)
    rounds = list(
        Round.objects.filter(kind=RoundKind.VERIFICATION, project__in=projects)
        .filter(Q(state=RoundState.OPEN, language__in=rater.language_skills.values("language")) | Q(pk__in=assigned))
        .select_related("project", "language", "pool", "verifies")
    )
    finished = dict(
        VerificationBatch.objects.filter(lease__person=rater, submitted_at__isnull=False, round__in=rounds)
        .values_list("round")
        .annotate(Count("pk"))
        .order_by()
    )
    missing = missing_requirements_of_rounds(rater, rounds)
    hidden = not_for(rater)
    return [
        RatingWork(
            round=round,
            open_batch=assigned.get(round.pk),
            resumable=resumable[round.pk],
            finished=finished.get(round.pk, 0),
            missing_requirements=missing[round.pk],
            is_anything_left=(
                round.pool.is_open
                and round.state == RoundState.OPEN
                and Task.objects.open_for(rater, round.pool).exclude(hidden).exists()
            ),
        )
        for round in rounds
    ]
