"""What annotators' pages show: nothing of other people's work, and on screen 2 nothing of screen 1."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.urls import reverse

from annotation.models import (
    CaptionBatch,
    CaptionItem,
    Rating,
    Round,
    RoundKind,
    RoundState,
    Stage,
    Tally,
    Verdict,
    VerificationBatch,
)
from annotation.permissions import missing_requirements_of_rounds
from annotation.rules import text_checks
from annotation.selectors.guidelines import GuidelineNews, news_for
from core.allocation.models import NOT_SHOWN, BatchState
from core.allocation.rules.outlooks import TimedWork
from core.allocation.selectors import (
    BatchHead,
    LeaseHead,
    OwnWork,
    Times,
    lease_fields,
    open_and_resumable,
    pools_with_tasks_for,
)
from core.compiled_query import CompiledQuery
from core.images.models import Image
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import Role, User
from core.people.selectors.rates import WorkKey


@dataclass(frozen=True, kw_only=True)
class RoundBatchHead(BatchHead):
    """The head of every page of a batch. `stage` is None for captions to rate."""

    round: Round
    stage: Stage | None
    submitted_at: datetime | None
    guidelines_version: int


@dataclass(frozen=True)
class LevelChoice:
    value: str
    label: str
    key: str
    guidance: str


@dataclass(frozen=True)
class CaptionToRate:
    """An image with the caption to rate: an English one on screen 1, or one by another person, who is not named."""

    position: int
    image: ServedImage
    text: str
    rating: str


class DraftText(NamedTuple):
    """A text as it is saved. One that was only saved while being typed is not written yet."""

    text: str
    is_autosaved: bool

    @property
    def is_written(self) -> bool:
        return bool(self.text.strip()) and not self.is_autosaved


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
    is_autosaved: bool = False
    notes_marks: bool = False


@dataclass(frozen=True)
class BatchStep:
    url: str
    number: int
    is_written: bool
    is_current: bool


@dataclass(frozen=True)
class WritePage:
    batch: LeaseHead
    item: WriteItem
    language: Language
    steps: Sequence[BatchStep]
    written: int
    previous: int | None
    following: int | None


@dataclass(frozen=True, kw_only=True)
class RoundWork(OwnWork[RoundBatchHead]):
    """A round as one person sees it."""

    round: Round
    finished: int
    news: GuidelineNews | None


def items_of(batch: CaptionBatch | UUID) -> QuerySet[CaptionItem]:
    """The items of a batch that were neither reassigned nor reported."""
    return CaptionItem.objects.filter(batch=batch).exclude(assignment__state__in=NOT_SHOWN).order_by("position")


# Saving a caption asks both for the page that comes next: saves 0.3 and 0.5 ms.
TEXTS = CompiledQuery(lambda batch: items_of(batch).values_list("position", "text", "is_autosaved"), batch=UUID)
ITEM_WITH_IMAGE = CompiledQuery(
    lambda batch, position: CaptionItem.objects.select_related("image").filter(batch=batch, position=position),
    batch=UUID,
    position=int,
)


@lru_cache(maxsize=10_000)
def language_of(round_id: int) -> Language:
    """A round's language, which never changes: asked with every save, and read from the database once."""
    return Round.objects.select_related("language").get(pk=round_id).language


def warnings_of(
    item: CaptionItem, language: Language, texts: Mapping[int, DraftText]
) -> list[text_checks.CaptionFault]:
    """The soft checks of one text against the other `texts` of its batch, and the warnings when it was submitted."""
    if not item.text.strip():
        return []
    others = [draft.text for position, draft in texts.items() if draft.text and position != item.position]
    warnings = text_checks.soft_warnings(item.text, language=language, others=others)
    return [*warnings, text_checks.COPIED] if item.copied_revision == item.revision else warnings


def warnings_by_position(items: Sequence[CaptionItem], language: Language) -> dict[int, list[text_checks.CaptionFault]]:
    texts = {item.position: DraftText(item.text, item.is_autosaved) for item in items}
    return {item.position: warnings_of(item, language, texts) for item in items}


def batch_head(batch: CaptionBatch | VerificationBatch, *, size: int, now: datetime) -> RoundBatchHead:
    return RoundBatchHead(
        **lease_fields(batch.lease, now=now),
        project=batch.round.project,
        language=batch.round.language,
        round=batch.round,
        size=size,
        stage=Stage(batch.stage) if isinstance(batch, CaptionBatch) else None,
        submitted_at=batch.submitted_at,
        guidelines_version=batch.guidelines.version,
    )


def rate_page(batch: CaptionBatch, viewer: User, now: datetime) -> dict[str, Any]:
    items = items_of(batch).select_related("image", "english")
    return rating_page(batch, [(item, item.image, item.english.text) for item in items], viewer, now)


def rating_page(
    batch: CaptionBatch | VerificationBatch,
    rows: Sequence[tuple[CaptionItem | Verdict, Image, str]],
    viewer: User,
    now: datetime,
) -> dict[str, Any]:
    """Show rows of a batch, each with its image and the caption to rate."""
    return {
        "batch": batch_head(batch, size=len(rows), now=now),
        "items": [
            CaptionToRate(row.position, served_image(image, viewer), text, row.rating) for row, image, text in rows
        ],
        "levels": [
            LevelChoice(level.value, str(level.label), str(key), str(text_checks.LEVEL_GUIDANCE[level.value]))
            for key, level in enumerate(Rating, start=1)
        ],
        "rated": sum(1 for row, _image, _text in rows if row.rating),
    }


def first_to_write(batch: CaptionBatch) -> int | None:
    """The position to go on at: of the unconfirmed text edited last, else of the first image without a caption.

    If all captions are confirmed, it is that of the first image; None if every image was reassigned.
    """
    unconfirmed = items_of(batch).filter(is_autosaved=True).exclude(text="")
    if last := unconfirmed.order_by("-saved_at").values_list("position", flat=True).first():
        return last
    texts = texts_of(batch)
    return next((position for position, draft in texts.items() if not draft.is_written), next(iter(texts), None))


def texts_of(batch: CaptionBatch) -> dict[int, DraftText]:
    """Return what was written so far, by position."""
    return {position: DraftText(*draft) for position, *draft in TEXTS.rows(batch=batch.pk)}


def written_in(texts: Mapping[int, DraftText]) -> int:
    return sum(1 for draft in texts.values() if draft.is_written)


def write_page(batch: CaptionBatch, position: int, viewer: User, now: datetime) -> WritePage | None:
    """Screen 2 at one image, or None if `position` has none or was reassigned."""
    texts = texts_of(batch)
    head = batch_head(batch, size=len(texts), now=now)
    return _write_page(head, texts, position, viewer, batch.round.language)


def page_ahead(
    batch: CaptionBatch, texts: Mapping[int, DraftText], position: int, viewer: User, now: datetime
) -> WritePage | None:
    """Screen 2 at another image of a batch of which `texts` are known: two queries less, and no head of the page."""
    head = LeaseHead(**lease_fields(batch.lease, now=now), size=len(texts))
    return _write_page(head, texts, position, viewer, language_of(batch.round_id))


def _write_page(
    head: LeaseHead, texts: Mapping[int, DraftText], position: int, viewer: User, language: Language
) -> WritePage | None:
    if position not in texts:
        return None
    positions = list(texts)
    index = positions.index(position)
    item = ITEM_WITH_IMAGE.get(batch=head.id, position=position)
    # One reverse() instead of fifteen: the addresses of a batch differ only in their last part.
    address = reverse("annotation:caption-write", args=[head.id, 0]).removesuffix("0/")
    return WritePage(
        batch=head,
        item=_write_item(item, index + 1, viewer, warnings_of(item, language, texts)),
        language=language,
        steps=[
            BatchStep(f"{address}{other}/", number, draft.is_written, other == position)
            for number, (other, draft) in enumerate(texts.items(), start=1)
        ],
        written=written_in(texts),
        previous=positions[index - 1] if index else None,
        following=positions[index + 1] if index + 1 < len(positions) else None,
    )


def own_captions(batch: CaptionBatch, viewer: User) -> list[WriteItem]:
    """All texts of an open batch, with the warnings about them."""
    items = list(items_of(batch).select_related("image"))
    warnings = warnings_by_position(items, batch.round.language)
    return [
        _write_item(item, number, viewer, warnings[item.position], text_checks.hard_error(item.text))
        for number, item in enumerate(items, start=1)
    ]


def _write_item(
    item: CaptionItem,
    number: int,
    viewer: User,
    warnings: Sequence[text_checks.CaptionFault],
    error: text_checks.CaptionFault | None = None,
) -> WriteItem:
    image = served_image(item.image, viewer)
    notes_marks = item.pasted_characters is not None
    about = (item.position, number, image, item.text, item.revision, warnings, error)
    return WriteItem(*about, is_autosaved=item.is_autosaved, notes_marks=notes_marks)


def submitted(batch: CaptionBatch, viewer: User) -> list[WriteItem]:
    items = CaptionItem.objects.filter(batch=batch, caption__isnull=False).select_related("image", "caption")
    return [
        WriteItem(item.position, number, served_image(item.image, viewer), item.caption.text, item.revision, ())
        for number, item in enumerate(items.order_by("position"), start=1)
    ]


def batches_of(annotator: User) -> QuerySet[CaptionBatch]:
    return CaptionBatch.with_heads().filter(lease__person=annotator)


def assigned_images(person: User) -> QuerySet[CaptionItem, int]:
    """Images whose English captions must not reach `person` by another way, until the batch is submitted."""
    return (
        CaptionItem.objects.filter(person=person).exclude(batch__stage=Stage.SUBMITTED).values_list("image", flat=True)
    )


def is_on_screen_2(person: User, image: str) -> Q:
    """Build the condition that `person` must not read an English caption of the image at a path any more."""
    written = CaptionItem.objects.filter(person=person, batch__stage=Stage.WRITE)
    return Q(**{f"{image}__in": written.values("image")})


def while_writing(person: User, by_others: bool) -> Q:
    """Build the condition that something of the time `at` may quote a caption of a batch that is on screen 2.

    They see such a caption when they take the batch; others may have quoted it before. Of a batch that ended
    unsubmitted, this holds until its deadline.
    """
    batches = CaptionBatch.objects.filter(lease__person=person, stage=Stage.WRITE)
    if not by_others:
        batches = batches.filter(lease__taken_at__lte=OuterRef("at"))
    return Q(Exists(batches.filter(Q(lease__state=BatchState.OPEN) | Q(lease__deadline__gte=OuterRef("at")))))


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
        .annotate(size=Count("items", filter=~Q(items__assignment__state__in=NOT_SHOWN)))
        .order_by("-lease__taken_at")
    )
    assigned, resumable = open_and_resumable(
        (batch.round_id, batch_head(batch, size=batch.size, now=now)) for batch in unfinished
    )
    # In a closed round, and in an archived project, people can only finish an open batch.
    offered = [round for round in rounds if round.state == RoundState.OPEN and not round.project.is_archived]
    shown = [round for round in rounds if round in offered or round.pk in assigned]
    news = {pk: new for pk, new in news_for(annotator, shown).items() if pk not in assigned}
    return works_of(annotator, shown, CaptionBatch.objects.all(), assigned, resumable, news=news)


def works_of(
    person: User,
    rounds: list[Round],
    batches: QuerySet[CaptionBatch] | QuerySet[VerificationBatch],
    assigned: Mapping[int, RoundBatchHead],
    resumable: Mapping[int, Sequence[RoundBatchHead]],
    *,
    news: Mapping[int, GuidelineNews] | None = None,
    without: Q | None = None,
) -> list[RoundWork]:
    """List `rounds` as `person` sees them, without the tasks that `without` excludes."""
    submitted = batches.filter(lease__person=person, submitted_at__isnull=False, round__in=rounds)
    finished = dict(submitted.order_by().values_list("round").annotate(Count("pk")))
    missing = missing_requirements_of_rounds(person, rounds)
    pools = [round.pool_id for round in rounds if round.state == RoundState.OPEN]
    with_tasks = pools_with_tasks_for(person, pools, without=without)
    return [
        RoundWork(
            project=round.project,
            language=round.language,
            round=round,
            open_batch=assigned.get(round.pk),
            resumable=resumable.get(round.pk, []),
            finished=finished.get(round.pk, 0),
            missing_requirements=missing[round.pk],
            is_anything_left=round.pool_id in with_tasks,
            pool=round.pool,
            batch_size=round.pool.batch_size,
            news=(news or {}).get(round.pk),
        )
        for round in rounds
    ]


def times_of_writing(projects: Collection[int], tags: Collection[str] | None) -> Times:
    """Return the captions that people wrote, with the ratings before them, and the time that they took."""
    return _times(Tally.objects.exclude(round__kind=RoundKind.VERIFICATION), projects, tags)


def times_of_rating(projects: Collection[int], tags: Collection[str] | None) -> Times:
    """Return how many captions of others people rated, and the time that it took."""
    return _times(Tally.objects.filter(round__kind=RoundKind.VERIFICATION), projects, tags)


def _times(tallies: QuerySet[Tally], projects: Collection[int], tags: Collection[str] | None) -> Times:
    if tags is not None:
        tallies = tallies.filter(round__language__in=tags)
    sums = {"answers": Sum("captions"), "active_ms": Sum(F("rating_ms") + F("writing_ms"))}
    times: dict[WorkKey, dict[int, TimedWork]] = defaultdict(dict)
    counted = tallies.filter(round__project__in=projects, captions__gt=0).order_by()
    for project, tag, person, answers, active_ms in counted.values_list(
        "round__project", "round__language", "person"
    ).annotate(**sums):
        times[project, tag][person] = TimedWork(answers, active_ms)
    return times
