"""Twenty raters at once on fifteen pairs: exactly three answers each, by three people, whatever happens."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from functools import partial
from random import Random

import pytest

from core.allocation.models import Task
from core.allocation.services.errors import (
    BatchReturnedError,
    LeaseExpiredError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolBusyError,
)
from core.allocation.services.lifecycle import expire_overdue
from core.people.models import User
from core.people.selectors.qualification import NotQualifiedError
from sxs_eval.models import Comparison, Judgement, JudgingBatch, TrialKind
from sxs_eval.selectors.work import progress_of
from sxs_eval.services import judging as services
from sxs_eval.services.quality import exclude_rater
from tests.allocation.test_exact_replication import assert_exact
from tests.annotation.test_race import Clock
from tests.concurrency import together, together_with_errors
from tests.factories import NOW, make_comparison, make_rater
from tests.tiers import runs

RATERS, PAIRS, REPLICATION = 20, 15, 3
LEASE = timedelta(minutes=30)
STOPS = (services.StaleTrialError, LeaseExpiredError, BatchReturnedError, NotQualifiedError)


def take(comparison: Comparison, rater: User, now: datetime, rng: Random) -> JudgingBatch | None:
    try:
        return services.take_batch(comparison=comparison, person=rater, now=now, rng=rng)
    except (PoolBusyError, NotQualifiedError):
        return None


def answer(batch: JudgingBatch, rater: User, position: int, choice: int, clock: Clock, _tab: int = 0) -> None:
    services.judge(batch_id=batch.pk, person=rater, position=position, choice=choice, now=clock())


def judge_some(batch: JudgingBatch, rater: User, clock: Clock, rng: Random) -> None:
    """Answers, some sent twice at once, some undone and given anew; sometimes the rater leaves or gives back."""
    for position in [trial.position for trial in progress_of(batch) if trial.choice is None]:
        choice = rng.choice((-3, -1, 0, 2))
        match rng.choice(("once", "once", "once", "twice", "undo", "leave", "give back")):
            case "leave":
                return
            case "give back":
                services.return_batch(batch_id=batch.pk, person=rater, now=clock())
                return
            case "twice":
                together(partial(answer, batch, rater, position, choice, clock), range(2))
            case "undo":
                answer(batch, rater, position, choice, clock)
                services.undo(batch_id=batch.pk, person=rater, position=position, now=clock())
                answer(batch, rater, position, -choice, clock)
            case _:
                answer(batch, rater, position, choice, clock)


def work(comparison: Comparison, rater: User, clock: Clock, rng: Random) -> None:
    for _ in range(3):
        batch = take(comparison, rater, clock(), rng)
        if batch is None:
            return
        try:
            judge_some(batch, rater, clock, rng)
            if rng.random() < 0.3:
                services.resume_batch(batch_id=batch.pk, person=rater, now=clock())
        except (*STOPS, NoTasksAvailableError, OpenBatchExistsError):
            continue


def finish_what_is_left(comparison: Comparison, raters: list[User], now: datetime) -> None:
    expire_overdue(now=now)
    for rater in raters:
        batch = take(comparison, rater, now, Random(0))
        while batch:
            for position in [trial.position for trial in progress_of(batch) if trial.choice is None]:
                services.judge(batch_id=batch.pk, person=rater, position=position, choice=1, now=now)
            following = take(comparison, rater, now, Random(0))
            batch = following if following and following.pk != batch.pk else None


def assert_judged_exactly(comparison: Comparison, *, besides: frozenset[int] = frozenset()) -> None:
    raters = defaultdict(list)
    counted = Judgement.objects.filter(comparison=comparison, kind=TrialKind.PAIR, choice__isnull=False, is_late=False)
    for judgement in counted.exclude(person__in=besides):
        raters[judgement.pair_id].append(judgement.person_id)
    assert len(raters) == PAIRS
    wrong = {pair: by for pair, by in raters.items() if not len(by) == len(set(by)) == REPLICATION}
    assert not wrong


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("run", runs(5, short=1))
def test_a_crowd_leaves_exactly_three_judgements_per_pair(run):
    comparison = make_comparison(
        images=PAIRS,
        replication=REPLICATION,
        batch_size=7,
        lease_s=int(LEASE.total_seconds()),
        repeat_percent=15,
        seed=run,
    )
    raters = [make_rater(comparison) for _ in range(RATERS)]
    clock = Clock(Random(run))

    together(lambda rater: work(comparison, rater, clock, Random(f"{run} {rater.pk}")), raters)
    assert_exact(comparison.pool)
    finish_what_is_left(comparison, raters, clock.now + 2 * LEASE)

    assert_exact(comparison.pool)
    assert_judged_exactly(comparison)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_rater_left_out_in_the_middle_of_an_answer_never_counts_and_is_replaced():
    comparison = make_comparison(images=PAIRS, replication=REPLICATION, batch_size=PAIRS)
    raters = [make_rater(comparison) for _ in range(4)]
    bad = raters[0]
    batch = take(comparison, bad, NOW, Random(1))
    manager = comparison.project.created_by

    def leave_out() -> None:
        exclude_rater(comparison=comparison, rater=bad, note="", by=manager, now=NOW)

    def go_on() -> None:
        for position in range(1, PAIRS + 1):
            services.judge(batch_id=batch.pk, person=bad, position=position, choice=3, now=NOW)

    outcomes = together_with_errors(lambda act: act(), [go_on, leave_out, leave_out])
    assert all(outcome is None or isinstance(outcome, (*STOPS,)) for outcome in outcomes), outcomes
    assert not Task.objects.filter(places_taken__gt=0).exists()
    finish_what_is_left(comparison, raters, NOW)
    assert_exact(comparison.pool)
    assert_judged_exactly(comparison, besides=frozenset([bad.pk]))
