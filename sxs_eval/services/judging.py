"""Judging pairs side by side: the life of a batch, one transaction a step.

Every answer counts by itself the moment it is in; the batch only says what is assigned. Each step locks the batch's row
first, so that two tabs, a double click and a late request take turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from allocation.models import Assignment, AssignmentState, Batch, BatchState
from allocation.services import assigning, lifecycle
from allocation.services.errors import (
    BatchReturnedError,
    LeaseExpiredError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolClosedError,
)
from allocation.services.lifecycle import expire_batch, finish_assignment, finish_batch, renew_lease, reopen_assignment
from crosslens_metrics.scales import SCALES
from inference.selectors import assigned_work
from people.models import User
from people.selectors.qualification import NotQualifiedError
from sxs_eval.models import (
    Comparison,
    GoldPair,
    Instructions,
    Judgement,
    JudgingBatch,
    Kind,
    Pair,
    RaterState,
    RaterStatus,
)
from sxs_eval.permissions import is_still_welcome, missing_requirements
from sxs_eval.rules import judging as rules
from sxs_eval.selectors.work import last_answered, progress_of, workable

# (ours) Longer than this over one pair is not time on task, whatever a browser says.
LONGEST_SITTING = timedelta(minutes=15)
LONGEST_COMMENT = 2000


class StaleTrialError(Exception):
    """The pair was answered otherwise, or another one is next."""


class NotOnScaleError(Exception):
    """The answer is none of the comparison's scale: `choices` are."""

    def __init__(self, choices: tuple[int, ...]) -> None:
        super().__init__(choices)
        self.choices = choices


class CommentTooLongError(Exception):
    """A comment has at most LONGEST_COMMENT characters."""


def take_batch(*, comparison: Comparison, person: User, now: datetime, rng: Random) -> JudgingBatch | None:
    """Hand `person` a batch of `comparison` (the open one, where there is one), or None when nothing is left for them.

    Raises
    ------
    NotQualifiedError, PoolClosedError, PoolBusyError
    """
    found = missing_requirements(person, comparison)
    if found:
        raise NotQualifiedError(found)
    _close_if_answered(comparison, person, now)
    instructions = Instructions.objects.filter(project=comparison.project_id).latest("version")

    def prepare(batch: Batch, assignments: list[Assignment]) -> None:
        # Somebody may have been left out or paused since; who decides on that waits for the same lock.
        _must_still_be_welcome(person, comparison)
        judging = JudgingBatch.objects.create(lease=batch, comparison=comparison, instructions=instructions)
        _lay_out(judging, person, assignments, rng)

    batch = assigning.take_batch(
        pool=comparison.pool,
        person=person,
        now=now,
        rng=rng,
        prepare=prepare,
        # What models say of an image stays away from whoever is writing about it.
        without=assigned_work.is_assigned(person, "pair__image", besides="sxs_eval"),
    )
    return JudgingBatch.objects.select_related("lease", "comparison").get(pk=batch.pk) if batch else None


def _close_if_answered(comparison: Comparison, person: User, now: datetime) -> None:
    with transaction.atomic():
        batch = (
            JudgingBatch.objects.select_for_update(no_key=True, of=("self", "lease"))
            .select_related("lease")
            .filter(comparison=comparison, lease__person=person, lease__state=BatchState.OPEN)
            .first()
        )
        if batch and not workable(batch).filter(choice=None).exists():
            finish_batch(batch=batch.lease, now=now)


def _lay_out(batch: JudgingBatch, person: User, assignments: list[Assignment], rng: Random) -> None:
    """Make the trials of a batch: its pairs, each with sides drawn, and attention items among them."""
    comparison = batch.comparison
    tasks = [assignment.task_id for assignment in assignments]
    pairs = {pair.task_id: pair for pair in Pair.objects.filter(task__in=tasks)}
    golds = _golds_for(comparison, person)
    old = _unrepeated(comparison, person)
    wanted = rules.attention_count(len(assignments), comparison.repeat_percent, rng)
    old_repeats = rng.sample(old, min(len(old), wanted))
    # A repeat from a returned batch is shown here instead.
    Judgement.objects.filter(repeated__in=old_repeats, choice=None).delete()
    drawn = rng.sample(golds, min(len(golds), rules.attention_count(len(assignments), comparison.gold_percent, rng)))
    planned = rules.plan_trials(
        len(assignments), golds=len(drawn), old_repeats=len(old_repeats), new_repeats=wanted - len(old_repeats), rng=rng
    )
    sides = [rng.random() < 0.5 for _ in assignments]
    rows, repeats = [], []
    for position, trial in enumerate(planned, start=1):
        row = Judgement(
            batch=batch,
            comparison=comparison,
            scale=comparison.scale,
            person=person,
            position=position,
            kind=trial.kind,
        )
        if trial.kind == Kind.GOLD:
            row.gold, row.test_is_left = drawn.pop(), rng.random() < 0.5
        elif trial.pair is None:
            row.repeated = old_repeats.pop()
            row.pair_id, row.test_is_left = row.repeated.pair_id, not row.repeated.test_is_left
        else:
            assignment = assignments[trial.pair]
            row.pair = pairs[assignment.task_id]
            if trial.kind == Kind.REPEAT:
                row.test_is_left = not sides[trial.pair]
                repeats.append(row)
                continue
            row.assignment, row.test_is_left = assignment, sides[trial.pair]
        rows.append(row)
    Judgement.objects.bulk_create(rows)
    originals = {row.pair_id: row for row in rows if row.kind == Kind.PAIR}
    for row in repeats:
        row.repeated = originals[row.pair_id]
    Judgement.objects.bulk_create(repeats)


def _golds_for(comparison: Comparison, person: User) -> list[GoldPair]:
    """Gold pairs that the rater has not met, in an order of their own."""
    if not comparison.gold_percent:
        return []
    seen = Judgement.objects.filter(person=person, gold__comparison=comparison).values("gold")
    found = GoldPair.objects.filter(comparison=comparison, is_used=True).exclude(pk__in=seen)
    for image in ("image", "other_image"):
        found = found.exclude(assigned_work.is_assigned(person, image, besides="sxs_eval"))
    return list(found.order_by("pk"))


def _unrepeated(comparison: Comparison, person: User) -> list[Judgement]:
    """What the rater judged in earlier batches and has not answered again."""
    if not comparison.repeat_percent:
        return []
    found = Judgement.objects.filter(
        Q(repeat=None) | Q(repeat__choice=None),
        comparison=comparison,
        person=person,
        kind=Kind.PAIR,
        choice__isnull=False,
        is_late=False,
    )
    return list(found.exclude(assigned_work.is_assigned(person, "pair__image", besides="sxs_eval")).order_by("pk"))


def judge(
    *,
    batch_id: UUID,
    person: User,
    position: int,
    choice: int,
    comment: str = "",
    active_ms: int = 0,
    now: datetime,
) -> Judgement:
    """Keep an answer. `choice` is in the rater's view: above 0 where left is better.

    The same answer sent twice is one. An expired batch is resumed as far as it is free; an
    answer whose place has gone to somebody else is kept, flagged as late, and never counted.

    Raises
    ------
    Judgement.DoesNotExist, NotQualifiedError, StaleTrialError, BatchReturnedError, NotOnScaleError, CommentTooLongError
    """
    if len(comment) > LONGEST_COMMENT:
        raise CommentTooLongError
    given = _Given(position, choice, comment.replace("\x00", "").strip(), active_ms)
    try:
        return _judge(batch_id, person, given, now, is_last_chance=False)
    except LeaseExpiredError:
        _resume(batch_id, person, now)
        return _judge(batch_id, person, given, now, is_last_chance=True)


def _resume(batch_id: UUID, person: User, now: datetime) -> None:
    try:
        resume_batch(batch_id=batch_id, person=person, now=now)
    except (NoTasksAvailableError, PoolClosedError, OpenBatchExistsError):
        # The answer is taken as a late one.
        return


@dataclass(frozen=True)
class _Given:
    """An answer as it came in."""

    position: int
    choice: int
    comment: str
    active_ms: int


def _judge(batch_id: UUID, person: User, given: _Given, now: datetime, *, is_last_chance: bool) -> Judgement:
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        judgement = Judgement.objects.select_related("assignment").get(batch=batch, position=given.position)
        judgement.batch = batch
        if judgement.choice is not None:
            if judgement.choice == given.choice:
                return judgement
            raise StaleTrialError
        scale = SCALES[judgement.scale]
        if given.choice not in scale:
            raise NotOnScaleError(scale.numbers)
        _must_still_be_welcome(person, batch.comparison)
        judgement.is_late = _is_late(batch, judgement, now, is_last_chance=is_last_chance)
        trials = progress_of(batch)
        if not judgement.is_late and any(one.choice is None and one.position < given.position for one in trials):
            raise StaleTrialError
        previous = last_answered(trials)
        since = previous.judged_at if previous and previous.judged_at else batch.lease.taken_at
        _keep(judgement, given, since=since, now=now)
        if judgement.assignment is not None:
            _settle(judgement.assignment, is_late=judgement.is_late)
        renew_lease(batch=batch.lease, now=now)
        if judgement.kind != Kind.PAIR and not judgement.is_late:
            _pause_if_inattentive(batch, person, now)
    return judgement


def _is_late(batch: JudgingBatch, judgement: Judgement, now: datetime, *, is_last_chance: bool) -> bool:
    """Whether the place of `judgement` is not the rater's any more.

    Raises
    ------
    BatchReturnedError, LeaseExpiredError
    """
    if batch.lease.state == BatchState.RETURNED:
        raise BatchReturnedError
    if batch.lease.state == BatchState.OPEN and batch.lease.deadline > now:
        return judgement.assignment is not None and judgement.assignment.state != AssignmentState.ASSIGNED
    if not is_last_chance:
        raise LeaseExpiredError
    expire_batch(batch=batch.lease, now=now)
    return True


def _keep(judgement: Judgement, given: _Given, *, since: datetime, now: datetime) -> None:
    judgement.active_ms += _credible_ms(given.active_ms, since=since, now=now)
    judgement.choice = given.choice
    judgement.score = given.choice if judgement.test_is_left else -given.choice
    judgement.comment, judgement.judged_at = given.comment, now
    judgement.save(update_fields=["choice", "score", "comment", "judged_at", "active_ms", "is_late"])


def _settle(assignment: Assignment, *, is_late: bool) -> None:
    if is_late:
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.LATE)
    else:
        finish_assignment(assignment=assignment)


def undo(*, batch_id: UUID, person: User, position: int, now: datetime) -> Judgement:
    """Take back the answer at `position`, if it is the last one of an open batch; asked twice, one is taken back.

    Raises
    ------
    Judgement.DoesNotExist, NotQualifiedError, StaleTrialError
    """
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        _must_still_be_welcome(person, batch.comparison)
        if batch.lease.state != BatchState.OPEN or batch.lease.deadline <= now:
            raise StaleTrialError
        judgement = Judgement.objects.select_related("assignment").get(batch=batch, position=position)
        judgement.batch = batch
        if judgement.choice is None:
            return judgement
        last = last_answered(progress_of(batch))
        if last is None or last.position != position or judgement.is_late:
            raise StaleTrialError
        judgement.choice = judgement.score = judgement.judged_at = None
        judgement.save(update_fields=["choice", "score", "judged_at"])
        if judgement.assignment is not None:
            reopen_assignment(assignment=judgement.assignment)
        renew_lease(batch=batch.lease, now=now)
    return judgement


def return_batch(*, batch_id: UUID, person: User, now: datetime) -> bool:
    """Return what is not judged of a batch to the comparison; False where all was judged. What is judged counts."""
    with transaction.atomic():
        batch = _locked_batch(batch_id, person).lease
        lifecycle.return_batch(batch=batch, now=now)
    return batch.state == BatchState.RETURNED


def resume_batch(*, batch_id: UUID, person: User, now: datetime) -> Batch:
    """Resume an expired or returned batch, as far as its pairs are still free.

    Raises
    ------
    NotQualifiedError, and those of allocation.services.assigning.resume_batch
    """
    batch = JudgingBatch.objects.select_related("comparison__language").get(pk=batch_id, lease__person=person)
    found = missing_requirements(person, batch.comparison)
    if found:
        raise NotQualifiedError(found)
    with transaction.atomic():
        resumed = assigning.resume_batch(batch_id=batch_id, person=person, now=now)
        _must_still_be_welcome(person, batch.comparison)
    return resumed


def _must_still_be_welcome(person: User, comparison: Comparison) -> None:
    if not is_still_welcome(person, comparison):
        raise NotQualifiedError(missing_requirements(person, comparison))


def _locked_batch(batch_id: UUID, person: User) -> JudgingBatch:
    return (
        JudgingBatch.objects.select_for_update(no_key=True, of=("self", "lease"))
        .select_related("lease", "comparison__project", "comparison__language", "instructions")
        .defer("instructions__body", "comparison__project__description")
        .get(pk=batch_id, lease__person=person)
    )


def _pause_if_inattentive(batch: JudgingBatch, person: User, now: datetime) -> None:
    comparison = batch.comparison
    status = RaterStatus.objects.filter(comparison=comparison, person=person).first()
    checks = Judgement.objects.filter(
        ~Q(kind=Kind.PAIR), comparison=comparison, person=person, choice__isnull=False, is_late=False
    )
    if status and status.checks_from:
        checks = checks.filter(judged_at__gt=status.checks_from)
    failures = [
        rules.has_failed(kind, score, first_score)
        for kind, score, first_score in checks.values_list("kind", "score", "repeated__score")
        if score is not None
    ]
    if rules.must_pause(
        failures,
        checks_before_pause=comparison.checks_before_pause,
        failures_percent=comparison.failures_percent,
    ):
        lifecycle.return_batch(batch=batch.lease, now=now)
        RaterStatus.objects.update_or_create(
            comparison=comparison, person=person, defaults={"state": RaterState.PAUSED, "paused_at": now}
        )


def _credible_ms(active_ms: int, *, since: datetime, now: datetime) -> int:
    """What a browser says it was active, at most as long as the clock ran."""
    longest = max(timedelta(0), min(now - since, LONGEST_SITTING))
    return max(0, min(active_ms, int(longest.total_seconds() * 1000)))
