"""What raters see: two captions, never which model made them nor what others answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.urls import reverse

from core.allocation.models import NOT_SHOWN, AssignmentState, BatchState
from core.allocation.rules.outlooks import TimedWork
from core.allocation.selectors import (
    BatchHead,
    OwnWork,
    Times,
    lease_fields,
    open_and_resumable,
    pools_with_tasks_for,
)
from core.compiled_query import CompiledQuery
from core.conversation.permissions import ItemPlace, ReportableItem, SeenCaption, SeenCaptions
from core.images.selectors import ServedImage, served_image
from core.languages.rules.registry import ENGLISH
from core.people.models import Role, User
from core.people.selectors.rates import WorkKey
from crosslens_metrics.scales import SCALES, Scale
from research.inference.selectors import assigned_work
from sxs_eval.models import LEFT_OUT, Comparison, Judgement, JudgingBatch, RaterStatus
from sxs_eval.permissions import batch_for, missing_requirements_of_comparisons

SHOWN = [state for state in AssignmentState.values if state not in NOT_SHOWN]
STILL_SHOWN = (
    Q(judgements__is_skipped=False)
    & (Q(judgements__assignment=None) | Q(judgements__assignment__state__in=SHOWN))
    & (Q(judgements__repeated=None) | Q(judgements__repeated__assignment__state__in=SHOWN))
)
"""For the trials of a batch: the same condition as `progress_of`."""

FREE_AGAIN = Q(judgements__assignment__state=AssignmentState.ASSIGNED) | Q(
    judgements__assignment__state__in=[AssignmentState.EXPIRED, AssignmentState.RETURNED],
    judgements__assignment__task__is_open=True,
)
"""For the trials of a batch that is not open: those that resuming it would bring back."""


# (ours) Most batches are on their page as a whole: their pairs can be judged without a connection.
MAX_AHEAD = 30
SHOWN_WITH_TRIAL = ("pair__image", "pair__base_caption", "pair__test_caption", "gold__image")
PROGRESS = (
    *("position", "choice", "judged_at", "is_late", "active_ms"),
    *("assignment__state", "repeated__assignment__state"),
)
# Every judgement asks both, the first one twice: saves 0.6 and 1.3 ms.
TRIALS = CompiledQuery(
    lambda batch: Judgement.objects.filter(batch=batch, is_skipped=False).order_by("position").values_list(*PROGRESS),
    batch=UUID,
)
CAPTIONS = CompiledQuery(
    lambda batch, first, second: Judgement.objects.filter(
        Q(position=first) | Q(position=second), batch=batch
    ).select_related(*SHOWN_WITH_TRIAL),
    batch=UUID,
    first=int,
    second=int,
)


@dataclass(frozen=True, kw_only=True)
class JudgingHead(BatchHead):
    """The head of a batch's page. `size` and `answered` count trials."""

    comparison_id: int
    answered: int
    instructions_version: int

    @property
    def left(self) -> int:
        return self.size - self.answered


@dataclass(frozen=True)
class TrialProgress:
    """The progress of one trial of a batch, without its captions."""

    position: int
    choice: int | None
    judged_at: datetime | None
    is_late: bool
    active_ms: int


@dataclass(frozen=True)
class Trial:
    """One trial. `position` is what the answer refers to; `number` counts from 1 among the trials of the batch.

    `undoable` is the position of the answer that can be undone when it is shown.
    """

    position: int
    number: int
    undoable: int | None
    image: ServedImage
    left: str
    right: str
    comment: str

    @property
    def answered(self) -> int:
        """How many are answered by the time it is shown."""
        return self.number - 1


@dataclass(frozen=True)
class JudgingPage:
    """`trial` is None if all are answered, `following` come next; `undoable` is the position of the last answer."""

    batch: JudgingHead
    trial: Trial | None
    following: Sequence[Trial]
    undoable: int | None
    scale: Scale


@dataclass(frozen=True, kw_only=True)
class ComparisonWork(OwnWork[JudgingHead]):
    """A comparison as one rater sees it; `judged` counts their answers."""

    comparison: Comparison
    judged: int


def assigned_images(person: User) -> QuerySet[Judgement, int]:
    """Return images of `person`'s unfinished batches: those could still be shown, with models' captions."""
    shown = _unfinished(person).annotate(shown=Coalesce("pair__image", "gold__image"))
    return shown.values_list("shown", flat=True)


def images_of_worse_captions(person: User) -> QuerySet[Judgement, int]:
    """Return images whose captions appear, in such batches, beside another image."""
    return _unfinished(person).filter(gold__other_image__isnull=False).values_list("gold__other_image", flat=True)


def _unfinished(person: User) -> QuerySet[Judgement]:
    """Return judgements of unfinished batches. Those of comparisons that exclude the person never come back."""
    left_out = RaterStatus.objects.filter(person=person, state__in=LEFT_OUT).values("comparison")
    judgements = Judgement.objects.filter(person=person).exclude(comparison__in=left_out)
    return judgements.exclude(batch__lease__state=BatchState.DONE)


def progress_of(batch: JudgingBatch) -> list[TrialProgress]:
    """Return the trials of a batch, except those that were reassigned or reported, and their repeats."""
    rows = TRIALS.rows(batch=batch.pk)
    return [TrialProgress(*row[:5]) for row in rows if not set(NOT_SHOWN).intersection(row[5:])]


def last_answered(trials: Iterable[TrialProgress]) -> TrialProgress | None:
    answered = [trial for trial in trials if trial.judged_at is not None]
    return max(answered, key=attrgetter("judged_at", "position"), default=None)


def batch_head(batch: JudgingBatch, *, size: int, answered: int, now: datetime) -> JudgingHead:
    assert batch.instructions is not None  # somebody judges it here
    return JudgingHead(
        **lease_fields(batch.lease, now=now),
        project=batch.comparison.project,
        language=batch.comparison.language,
        comparison_id=batch.comparison_id,
        size=size,
        answered=answered,
        instructions_version=batch.instructions.version,
    )


def judging_page(
    batch: JudgingBatch, viewer: User, now: datetime, *, ahead: int = 0, shown: int | None = None, last: int = 0
) -> JudgingPage:
    """Return the next trial and up to `ahead` of those that follow.

    A page that has `shown` that one already, and has those up to `last`, gets only the one after `last`.
    """
    trials = progress_of(batch)
    waiting = [trial.position for trial in trials if trial.choice is None]
    head = batch_head(batch, size=len(trials), answered=len(trials) - len(waiting), now=now)
    answered = last_answered(trials) if head.is_open else None
    undoable = answered.position if answered and not answered.is_late else None
    following = waiting[1 : ahead + 1]
    if waiting[:1] == [shown]:
        following = [position for position in waiting[1:] if position > last][:1]
    wanted = _with_captions(batch, [*waiting[:1], *following]) if head.is_open else []
    numbers = {one.position: number for number, one in enumerate(trials, start=1)}
    before = dict(zip(waiting, [undoable, *waiting], strict=False))
    shown_now = [_trial(row, numbers[row.position], before[row.position], viewer) for row in wanted]
    return JudgingPage(
        batch=head,
        trial=shown_now[0] if shown_now else None,
        following=shown_now[1:],
        undoable=undoable,
        scale=SCALES[batch.comparison.scale],
    )


def _with_captions(batch: JudgingBatch, positions: Sequence[int]) -> list[Judgement]:
    if len(positions) > 2:
        trials = Judgement.objects.filter(batch=batch.pk, position__in=positions)
        return list(trials.select_related(*SHOWN_WITH_TRIAL).order_by("position"))
    return CAPTIONS.rows(batch=batch.pk, first=positions[0], second=positions[-1]) if positions else []


def _trial(judgement: Judgement, number: int, undoable: int | None, viewer: User) -> Trial:
    left, right = judgement.sides
    image = served_image(judgement.image, viewer)
    return Trial(judgement.position, number, undoable, image, left, right, judgement.comment)


def reportable_trial(rater: User, batch_id: UUID, position: int) -> ReportableItem:
    """Return the image of a trial of the rater's own batch. What is asked about English captions may quote them."""
    batch = batch_for(rater, batch_id)
    trials = Judgement.objects.select_related("pair__image", "gold__image")
    trial = get_object_or_404(trials, batch=batch_id, position=position)
    return ReportableItem(
        batch.comparison.project,
        batch.comparison.language,
        trial.image,
        reverse("sxs_eval:batch-show", args=[batch_id]),
        is_on_screen_1=batch.comparison.language_id == ENGLISH,
        is_caption_judged=True,
        is_skipped=trial.choice is None,
    )


def captions_of_trials(reader: User, places: Collection[ItemPlace]) -> SeenCaptions:
    """Return both captions of trials, the left one first, without who or what wrote them.

    The worse caption of a gold pair may be of another image. There is none to read while that one is assigned to
    `reader`.
    """
    batches, positions = zip(*places, strict=True)
    trials = Judgement.objects.filter(batch__in=batches, position__in=positions)
    trials = trials.exclude(assigned_work.is_assigned(reader, "gold__other_image"))
    trials = trials.select_related("pair__base_caption", "pair__test_caption", "gold", "comparison__language")
    return {
        (one.batch_id, one.position): [SeenCaption(text, one.comparison.language) for text in one.sides]
        for one in trials
    }


def work_of(rater: User, now: datetime) -> list[ComparisonWork]:
    """List every comparison in the languages of `rater`, where they have the role, with their work in it."""
    languages = rater.language_skills.values("language")
    comparisons = list(
        Comparison.objects.filter(
            project__memberships__user=rater, project__memberships__role=Role.RATER, language__in=languages
        ).select_related("project", "language", "pool")
    )
    unfinished = (
        JudgingBatch.with_heads()
        .filter(lease__person=rater, comparison__in=comparisons)
        .exclude(lease__state=BatchState.DONE)
        .annotate(
            size=Count("judgements", filter=STILL_SHOWN), answered=Count("judgements__choice", filter=STILL_SHOWN)
        )
        .annotate(free=Count("judgements", filter=FREE_AGAIN))
        .order_by("-lease__taken_at")
    )
    heads = [(batch, batch_head(batch, size=batch.size, answered=batch.answered, now=now)) for batch in unfinished]
    assigned, resumable = open_and_resumable(
        (batch.comparison_id, head) for batch, head in heads if head.is_open or batch.free
    )
    judged = dict(
        Judgement.objects.filter(person=rater, comparison__in=comparisons, choice__isnull=False)
        .values_list("comparison")
        .annotate(Count("pk"))
    )
    missing = missing_requirements_of_comparisons(rater, comparisons)
    with_tasks = pools_with_tasks_for(rater, [comparison.pool_id for comparison in comparisons])
    return [
        ComparisonWork(
            project=comparison.project,
            language=comparison.language,
            comparison=comparison,
            open_batch=assigned.get(comparison.pk),
            resumable=resumable[comparison.pk],
            judged=judged.get(comparison.pk, 0),
            missing_requirements=missing[comparison.pk],
            is_anything_left=comparison.pool_id in with_tasks,
            pool=comparison.pool,
            batch_size=comparison.trials_per_batch,
        )
        for comparison in comparisons
        if not comparison.project.is_archived or comparison.pk in assigned
    ]


def times_of_judging(projects: Collection[int], tags: Collection[str] | None) -> Times:
    """Return how many pairs people judged, attention items included, and the time that it took."""
    judged = Judgement.objects.filter(comparison__project__in=projects, choice__isnull=False, is_late=False)
    if tags is not None:
        judged = judged.filter(comparison__language__in=tags)
    times: dict[WorkKey, dict[int, TimedWork]] = defaultdict(dict)
    for project, tag, person, answers, active_ms in (
        judged.order_by()
        .values_list("comparison__project", "comparison__language", "person")
        .annotate(Count("pk"), Sum("active_ms"))
    ):
        times[project, tag][person] = TimedWork(answers, active_ms)
    return times


def has_pairs_to_judge(rater: User, now: datetime) -> bool:
    return any(work.has_something_to_do for work in work_of(rater, now))
