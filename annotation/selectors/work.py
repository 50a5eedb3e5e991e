"""The annotator's pages. They show nothing of other people's work, and screen 2 nothing of screen 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from django.db.models import Count, QuerySet
from django.urls import reverse

from allocation.models import AssignmentState, BatchState, Task
from annotation.models import CaptionBatch, CaptionItem, Rating, Round, RoundKind, RoundState, Stage
from annotation.permissions import missing_requirements_of_rounds
from annotation.rules import text_checks
from annotation.selectors.guidelines import News, news_for
from images.selectors import ServedImage, served_image
from languages.models import Language
from people.models import Project, Role, User
from people.selectors.qualification import MissingRequirement


@dataclass(frozen=True)
class BatchHead:
    """The head of every page of a batch."""

    id: UUID
    project: Project
    language: Language
    round_id: int
    size: int
    stage: Stage
    state: BatchState
    deadline: datetime
    submitted_at: datetime | None
    guidelines_version: int
    is_late: bool

    @property
    def is_open(self) -> bool:
        return self.state == BatchState.OPEN and not self.is_late


@dataclass(frozen=True)
class LevelChoice:
    value: str
    label: str
    key: str
    guidance: str


@dataclass(frozen=True)
class RateItem:
    position: int
    image: ServedImage
    english: str
    rating: str


@dataclass(frozen=True)
class RatePage:
    batch: BatchHead
    items: Sequence[RateItem]
    levels: Sequence[LevelChoice]
    rated: int


@dataclass(frozen=True)
class WriteItem:
    """An image of a batch. `number` counts from 1 among the images worked on; `position` is in the address."""

    position: int
    number: int
    image: ServedImage
    text: str
    revision: int
    warnings: Sequence[text_checks.CaptionFault]
    error: text_checks.CaptionFault | None = None


@dataclass(frozen=True)
class Step:
    url: str
    number: int
    is_written: bool
    is_current: bool


@dataclass(frozen=True)
class WritePage:
    batch: BatchHead
    item: WriteItem
    language: Language
    steps: Sequence[Step]
    written: int
    previous: int | None
    following: int | None


@dataclass(frozen=True)
class RoundWork:
    """A round as one annotator sees it."""

    round: Round
    open_batch: BatchHead | None
    resumable: Sequence[BatchHead]
    finished: int
    missing_requirements: Sequence[MissingRequirement]
    is_anything_left: bool
    news: News | None = None

    @property
    def project(self) -> Project:
        return self.round.project

    @property
    def language(self) -> Language:
        return self.round.language


def workable(batch: CaptionBatch) -> QuerySet[CaptionItem]:
    """Return the items to work on: in a resumed batch, those whose place was still free."""
    return (
        CaptionItem.objects.filter(batch=batch)
        .exclude(assignment__state=AssignmentState.REASSIGNED)
        .order_by("position")
    )


@lru_cache(maxsize=10_000)
def language_of(round_id: int) -> Language:
    """Return a round's language. It never changes and every save asks for it, so it is cached."""
    return Round.objects.select_related("language").get(pk=round_id).language


def warnings_of(
    item: CaptionItem, language: Language, texts: Iterable[str] | None = None
) -> list[text_checks.CaptionFault]:
    """The soft checks of one text against the other `texts` of its batch, and the warnings when it was submitted."""
    if not item.text.strip():
        return []
    if texts is None:
        texts = CaptionItem.objects.filter(batch=item.batch_id).exclude(pk=item.pk).values_list("text", flat=True)
    others = [text for text in texts if text]
    warnings = text_checks.soft_warnings(item.text, language=language, others=others)
    return [*warnings, text_checks.COPIED] if item.copied_revision == item.revision else warnings


def warnings_by_position(items: Sequence[CaptionItem], language: Language) -> dict[int, list[text_checks.CaptionFault]]:
    return {
        item.position: warnings_of(item, language, [other.text for other in items if other is not item])
        for item in items
    }


def batch_head(batch: CaptionBatch, *, size: int, now: datetime) -> BatchHead:
    lease = batch.lease
    return BatchHead(
        id=lease.pk,
        project=batch.round.project,
        language=batch.round.language,
        round_id=batch.round_id,
        size=size,
        stage=Stage(batch.stage),
        state=BatchState(lease.state),
        deadline=lease.deadline,
        submitted_at=batch.submitted_at,
        guidelines_version=batch.guidelines.version,
        is_late=lease.state == BatchState.EXPIRED or (lease.state == BatchState.OPEN and lease.deadline <= now),
    )


def rate_page(batch: CaptionBatch, viewer: User, now: datetime) -> RatePage:
    items = [
        RateItem(item.position, served_image(item.image, viewer), item.english.text, item.rating)
        for item in workable(batch).select_related("image", "english")
    ]
    return RatePage(
        batch=batch_head(batch, size=len(items), now=now),
        items=items,
        levels=level_choices(),
        rated=sum(1 for item in items if item.rating),
    )


def level_choices() -> list[LevelChoice]:
    return [
        LevelChoice(level.value, str(level.label), str(key), str(text_checks.LEVEL_GUIDANCE[level.value]))
        for key, level in enumerate(Rating, start=1)
    ]


def written_so_far(batch: CaptionBatch) -> int:
    return workable(batch).exclude(text="").count()


def first_to_write(batch: CaptionBatch) -> int | None:
    """Return the position to begin at: the first without a text, else the first; None if no work is left."""
    items = list(workable(batch).values_list("position", "text"))
    return next((position for position, text in items if not text.strip()), items[0][0] if items else None)


def write_page(batch: CaptionBatch, position: int, viewer: User, now: datetime) -> WritePage | None:
    """Return screen 2 at one image, or None if `position` is not one of those to work on."""
    texts = dict(workable(batch).values_list("position", "text"))
    if position not in texts:
        return None
    positions = list(texts)
    index = positions.index(position)
    item = CaptionItem.objects.select_related("image").get(batch=batch, position=position)
    language = batch.round.language
    others = [text for other, text in texts.items() if other != position]
    # One reverse() instead of fifteen: the addresses of a batch differ only in their last part.
    address = reverse("annotation:caption-write", args=[batch.pk, 0]).removesuffix("0/")
    is_written = {other: bool(text.strip()) for other, text in texts.items()}
    return WritePage(
        batch=batch_head(batch, size=len(texts), now=now),
        item=WriteItem(
            position=position,
            number=index + 1,
            image=served_image(item.image, viewer),
            text=item.text,
            revision=item.revision,
            warnings=warnings_of(item, language, others),
        ),
        language=language,
        steps=[
            Step(f"{address}{other}/", number, is_written[other], other == position)
            for number, other in enumerate(positions, start=1)
        ],
        written=sum(is_written.values()),
        previous=positions[index - 1] if index else None,
        following=positions[index + 1] if index + 1 < len(positions) else None,
    )


def own_captions(batch: CaptionBatch, viewer: User) -> list[WriteItem]:
    """Return all texts of an unfinished batch, with the results of the checks."""
    items = list(workable(batch).select_related("image"))
    warnings = warnings_by_position(items, batch.round.language)
    return [
        WriteItem(
            position=item.position,
            number=number,
            image=served_image(item.image, viewer),
            text=item.text,
            revision=item.revision,
            warnings=warnings[item.position],
            error=text_checks.hard_error(item.text),
        )
        for number, item in enumerate(items, start=1)
    ]


def submitted(batch: CaptionBatch, viewer: User) -> list[WriteItem]:
    items = CaptionItem.objects.filter(batch=batch, caption__isnull=False).select_related("image", "caption")
    return [
        WriteItem(item.position, number, served_image(item.image, viewer), item.caption.text, item.revision, ())
        for number, item in enumerate(items.order_by("position"), start=1)
    ]


def batches_of(annotator: User) -> QuerySet[CaptionBatch]:
    return CaptionBatch.objects.filter(lease__person=annotator).select_related(
        "lease", "round__project", "round__language", "guidelines"
    )


def assigned_images(person: User) -> QuerySet[CaptionItem, int]:
    """Return images whose English captions `person` must not see elsewhere until the batch is submitted."""
    return (
        CaptionItem.objects.filter(person=person).exclude(batch__stage=Stage.SUBMITTED).values_list("image", flat=True)
    )


def work_of(annotator: User, now: datetime) -> list[RoundWork]:
    """List every round in the languages of `annotator`, in projects where they have the role, with their work in it."""
    languages = annotator.language_skills.values("language")
    rounds = list(
        Round.objects.filter(
            project__memberships__user=annotator,
            project__memberships__role=Role.ANNOTATOR,
            language__in=languages,
            state__in=(RoundState.OPEN, RoundState.CLOSED),
        )
        .exclude(kind=RoundKind.VERIFICATION)
        .select_related("project", "language", "pool", "guidelines", "verifies")
        .defer("guidelines__rating", "guidelines__writing")
    )
    unfinished = (
        batches_of(annotator)
        .filter(round__in=rounds)
        .exclude(stage=Stage.SUBMITTED)
        .annotate(size=Count("items"))
        .order_by("-lease__taken_at")
    )
    assigned: dict[int, BatchHead] = {}
    resumable: dict[int, list[BatchHead]] = {round.pk: [] for round in rounds}
    for batch in unfinished:
        head = batch_head(batch, size=batch.size, now=now)
        if head.is_open:
            assigned[batch.round_id] = head
        else:
            resumable[batch.round_id].append(head)
    finished = dict(
        CaptionBatch.objects.filter(lease__person=annotator, stage=Stage.SUBMITTED)
        .values_list("round")
        .annotate(Count("pk"))
    )
    missing = missing_requirements_of_rounds(annotator, rounds)
    news = news_for(annotator, rounds)
    return [
        RoundWork(
            round=round,
            open_batch=assigned.get(round.pk),
            resumable=resumable[round.pk],
            finished=finished.get(round.pk, 0),
            missing_requirements=missing[round.pk],
            is_anything_left=round.pool.is_open and Task.objects.open_for(annotator, round.pool).exists(),
            news=None if round.pk in assigned else news.get(round.pk),
        )
        for round in rounds
        # In a closed round, only work that is already assigned can still be done.
        if round.state == RoundState.OPEN or round.pk in assigned
    ]
