"""Judging pairs side by side: the steps of a batch. `core.allocation.services.kinds` has those that all batches share.

Every answer counts by itself as soon as it is stored; the batch only says which pairs are assigned.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from core.allocation.models import NOT_SHOWN, Assignment, AssignmentState, Batch, BatchState
from core.allocation.services import lifecycle
from core.allocation.services.errors import (
    LeaseExpiredError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolClosedError,
)
from core.allocation.services.kinds import BatchKind, check_not_returned, credible_ms
from core.allocation.services.lifecycle import (
    expire_batch,
    finish_assignment,
    finish_batch,
    renew_lease,
    reopen_assignment,
)
from core.allocation.services.locks import FreeTasks, lock_with_lease
from core.compiled_query import CompiledQuery, save_columns
from core.conversation.selectors import is_held, is_reported_by
from core.people.models import TextKind, User
from core.people.selectors.qualification import MissingRequirement, NotQualifiedError
from core.people.selectors.texts import OriginalText
from core.people.services.texts import kept_translation
from crosslens_metrics.scales import SCALES
from research.inference.selectors import assigned_work
from sxs_eval.models import (
    Comparison,
    GoldPair,
    Instructions,
    Judgement,
    JudgingBatch,
    Pair,
    RaterState,
    RaterStatus,
    TrialKind,
)
from sxs_eval.permissions import is_still_welcome, missing_requirements
from sxs_eval.rules import judging as rules
from sxs_eval.selectors.work import last_answered, progress_of

# (ours) Longer than this over one pair is not active time, whatever a browser says.
MAX_SITTING = timedelta(minutes=15)
MAX_COMMENT_CHARACTERS = 2000


class StaleTrialError(Exception):
    """The pair has another answer already, or another pair is next."""


class NotOnScaleError(Exception):
    """The answer is not on the comparison's scale; `choices` are."""

    def __init__(self, choices: tuple[int, ...]) -> None:
        super().__init__(choices)
        self.choices = choices


class CommentTooLongError(Exception):
    """A comment has at most MAX_COMMENT_CHARACTERS characters."""


class JudgingBatchKind(BatchKind[JudgingBatch, Comparison]):
    """Batches of pairs to judge."""

    model = JudgingBatch
    # Nobody sees what models say of an image while they write about it.
    free_tasks = (
        FreeTasks(
            lambda person, project: (
                assigned_work.is_kept_from(person, "pair__image", besides="sxs_eval")
                | is_held(project, "pair__image", "pair__comparison__language")
                | is_reported_by(person, "pair__image")
            )
        ),
    )

    def held_back(self, project_id: int) -> Q:
        return is_held(project_id, "pair__image", "pair__comparison__language")

    def skip_at(self, batch: JudgingBatch, position: int) -> bool:
        """Nothing tells the rater an attention item, which has no place to free, from a pair."""
        trial = JUDGEMENT.get(batch=batch.pk, position=position)
        if trial.choice is not None:
            return False
        if trial.assignment is None:
            trial.is_skipped = True
            save_columns(trial, "is_skipped")
            return True
        if repeat := Judgement.objects.filter(repeated=trial, choice=None, is_skipped=False).first():
            _repeat_another(repeat)
        return lifecycle.skip_assignment(batch=batch.lease, assignment=trial.assignment)

    def close_if_all_skipped(self, batch: JudgingBatch, now: datetime) -> None:
        if all(trial.choice is not None for trial in progress_of(batch)):
            finish_batch(batch=batch.lease, now=now)

    def work_of(self, batch: JudgingBatch) -> Comparison:
        return batch.comparison

    def missing_requirements(self, person: User, work: Comparison) -> list[MissingRequirement]:
        return missing_requirements(person, work)

    def check_still_qualified(self, person: User, work: Comparison) -> None:
        if not is_still_welcome(person, work):
            raise NotQualifiedError(missing_requirements(person, work))

    def add_rows(self, work: Comparison, lease: Batch, assignments: list[Assignment], rng: Random) -> None:
        instructions = Instructions.objects.filter(project=work.project_id).latest("version")
        read = OriginalText(instructions.version, instructions.body)
        shown = kept_translation(project=work.project, kind=TextKind.INSTRUCTIONS, original=read, now=lease.taken_at)
        batch = JudgingBatch.objects.create(
            lease=lease,
            comparison=work,
            instructions=instructions,
            instructions_language=shown.language_id if shown else "",
            instructions_translation=shown,
        )
        _lay_out(batch, lease.person, assignments, rng)

    def close_if_done(self, person: User, work: Comparison, now: datetime) -> None:
        with transaction.atomic():
            open_batches = JudgingBatch.objects.filter(comparison=work, lease__state=BatchState.OPEN)
            batch = lock_with_lease(open_batches.select_related("lease")).filter(lease__person=person).first()
            if batch:
                self.close_if_all_skipped(batch, now)


KIND = JudgingBatchKind()
# Every judgement asks it: saves 0.5 ms.
JUDGEMENT = CompiledQuery(
    lambda batch, position: Judgement.objects.select_related("assignment").filter(batch=batch, position=position),
    batch=UUID,
    position=int,
)
return_batch, resume_batch = KIND.return_batch, KIND.resume_batch


def take_batch(*, comparison: Comparison, person: User, now: datetime, rng: Random) -> JudgingBatch | None:
    """Take a batch of `comparison`; see `BatchKind.take_batch`."""
    return KIND.take_batch(work=comparison, person=person, now=now, rng=rng)


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
        if trial.kind == TrialKind.GOLD:
            row.gold, row.test_is_left = drawn.pop(), rng.random() < 0.5
        elif trial.pair is None:
            row.repeated = old_repeats.pop()
            row.pair_id, row.test_is_left = row.repeated.pair_id, not row.repeated.test_is_left
        else:
            assignment = assignments[trial.pair]
            row.pair = pairs[assignment.task_id]
            if trial.kind == TrialKind.REPEAT:
                row.test_is_left = not sides[trial.pair]
                repeats.append(row)
                continue
            row.assignment, row.test_is_left = assignment, sides[trial.pair]
        rows.append(row)
    Judgement.objects.bulk_create(rows)
    originals = {row.pair_id: row for row in rows if row.kind == TrialKind.PAIR}
    for row in repeats:
        row.repeated = originals[row.pair_id]
    Judgement.objects.bulk_create(repeats)


def _repeat_another(repeat: Judgement) -> None:
    """Have the repeat of a pair that is skipped repeat another pair of its batch, as long as there is one.

    Otherwise the batch would get shorter by two trials, which it never does for an attention item.
    """
    pairs = Judgement.objects.filter(batch=repeat.batch_id, kind=TrialKind.PAIR, repeat=None)
    pairs = pairs.filter(position__lt=repeat.position - rules.MIN_GAP).exclude(assignment__state__in=NOT_SHOWN)
    if other := pairs.order_by("-position").first():
        repeat.repeated, repeat.pair_id, repeat.test_is_left = other, other.pair_id, not other.test_is_left
    else:
        repeat.is_skipped = True
    repeat.save(update_fields=["repeated", "pair", "test_is_left", "is_skipped"])


def _golds_for(comparison: Comparison, person: User) -> list[GoldPair]:
    """Return the gold pairs that the rater has not seen, in a fixed order."""
    if not comparison.gold_percent:
        return []
    seen = Judgement.objects.filter(person=person, gold__comparison=comparison).values("gold")
    golds = GoldPair.objects.filter(comparison=comparison, is_used=True).exclude(pk__in=seen)
    for image in ("image", "other_image"):
        golds = golds.exclude(_comes_not_to(person, comparison, image))
    return list(golds.order_by("pk"))


def _unrepeated(comparison: Comparison, person: User) -> list[Judgement]:
    """Return what the rater judged in earlier batches and has not judged again."""
    if not comparison.repeat_percent:
        return []
    judged = Judgement.objects.filter(
        Q(repeat=None) | Q(repeat__choice=None),
        comparison=comparison,
        person=person,
        kind=TrialKind.PAIR,
        choice__isnull=False,
        is_late=False,
    )
    return list(judged.exclude(_comes_not_to(person, comparison, "pair__image")).order_by("pk"))


def _comes_not_to(person: User, comparison: Comparison, image: str) -> Q:
    """Build the condition for attention items: unlike pairs, nothing else keeps reported ones from coming again."""
    is_reported = is_held(comparison.project_id, image, "comparison__language") | is_reported_by(person, image)
    return assigned_work.is_kept_from(person, image, besides="sxs_eval") | is_reported


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
    """Save an answer. `choice` is in the rater's view: above 0 where left is better.

    Sending the same answer again has no further effect. An expired batch is resumed with the pairs that are still free;
    an answer to a pair that was reassigned is kept, marked late, and never counted.

    Raises Judgement.DoesNotExist, NotQualifiedError, StaleTrialError, BatchReturnedError, NotOnScaleError or
    CommentTooLongError.
    """
    if len(comment) > MAX_COMMENT_CHARACTERS:
        raise CommentTooLongError
    given = _GivenAnswer(position, choice, comment.replace("\x00", "").strip(), active_ms)
    try:
        return _judge(batch_id, person, given, now, is_last_chance=False)
    except LeaseExpiredError:
        _resume(batch_id, person, now)
        return _judge(batch_id, person, given, now, is_last_chance=True)


def _resume(batch_id: UUID, person: User, now: datetime) -> None:
    try:
        resume_batch(batch_id=batch_id, person=person, now=now)
    except (NoTasksAvailableError, PoolClosedError, OpenBatchExistsError):
        # The answer is stored as late.
        return


@dataclass(frozen=True)
class _GivenAnswer:
    """An answer as it came in."""

    position: int
    choice: int
    comment: str
    active_ms: int


def _judge(batch_id: UUID, person: User, given: _GivenAnswer, now: datetime, *, is_last_chance: bool) -> Judgement:
    with transaction.atomic():
        batch = KIND.locked(batch_id, person)
        judgement = JUDGEMENT.get(batch=batch_id, position=given.position)
        judgement.batch = batch
        if judgement.choice is not None:
            if judgement.choice == given.choice:
                return judgement
            raise StaleTrialError
        is_reported = judgement.assignment is not None and judgement.assignment.state == AssignmentState.REPORTED
        if is_reported or judgement.is_skipped:
            raise StaleTrialError
        scale = SCALES[judgement.scale]
        if given.choice not in scale:
            raise NotOnScaleError(scale.numbers)
        KIND.check_still_qualified(person, batch.comparison)
        judgement.is_late = _is_late(batch, judgement, now, is_last_chance=is_last_chance)
        trials = progress_of(batch)
        if not judgement.is_late and any(one.choice is None and one.position < given.position for one in trials):
            raise StaleTrialError
        # Answers that were given without a connection come together: each has what the others left of the time.
        spent = timedelta(milliseconds=sum(one.active_ms for one in trials))
        _keep(judgement, given, since=batch.lease.taken_at + spent, now=now)
        if judgement.assignment is not None:
            _settle(judgement.assignment, is_late=judgement.is_late)
        renew_lease(batch=batch.lease, now=now)
        if judgement.kind != TrialKind.PAIR and not judgement.is_late:
            _pause_if_inattentive(batch, person, now)
    return judgement


def _is_late(batch: JudgingBatch, judgement: Judgement, now: datetime, *, is_last_chance: bool) -> bool:
    """Say whether the place of `judgement` is no longer the rater's.

    Raises BatchReturnedError or LeaseExpiredError.
    """
    check_not_returned(batch.lease)
    if batch.lease.is_open_at(now):
        return judgement.assignment is not None and judgement.assignment.state != AssignmentState.ASSIGNED
    if not is_last_chance:
        raise LeaseExpiredError
    expire_batch(batch=batch.lease, now=now)
    return True


def _keep(judgement: Judgement, given: _GivenAnswer, *, since: datetime, now: datetime) -> None:
    judgement.active_ms += credible_ms(given.active_ms, since=since, now=now, longest=MAX_SITTING)
    judgement.choice = given.choice
    judgement.score = given.choice if judgement.test_is_left else -given.choice
    judgement.comment, judgement.judged_at = given.comment, now
    save_columns(judgement, "choice", "score", "comment", "judged_at", "active_ms", "is_late")


def _settle(assignment: Assignment, *, is_late: bool) -> None:
    if is_late:
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.LATE)
    else:
        finish_assignment(assignment=assignment)


def undo(*, batch_id: UUID, person: User, position: int, now: datetime) -> Judgement:
    """Undo the answer at `position` if it is the last one of an open batch. Repeating it has no further effect.

    Raises Judgement.DoesNotExist, NotQualifiedError or StaleTrialError.
    """
    with transaction.atomic():
        batch = KIND.locked(batch_id, person)
        KIND.check_still_qualified(person, batch.comparison)
        if not batch.lease.is_open_at(now):
            raise StaleTrialError
        judgement = JUDGEMENT.get(batch=batch_id, position=position)
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


def _pause_if_inattentive(batch: JudgingBatch, person: User, now: datetime) -> None:
    comparison = batch.comparison
    status = RaterStatus.objects.filter(comparison=comparison, person=person).first()
    checks = Judgement.objects.filter(
        ~Q(kind=TrialKind.PAIR), comparison=comparison, person=person, choice__isnull=False, is_late=False
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
