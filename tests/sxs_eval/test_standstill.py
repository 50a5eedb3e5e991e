"""Managers and raters at the same pairs at the same moment: nobody waits in a circle, nobody slips through."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from random import Random

import pytest

from core.allocation.models import BatchState, Task
from core.allocation.services.errors import NoTasksAvailableError
from core.allocation.services.lifecycle import expire_overdue
from core.people.models import User
from core.people.selectors.qualification import MissingRequirement, NotQualifiedError
from sxs_eval import permissions
from sxs_eval.models import Comparison, JudgingBatch
from sxs_eval.services import judging as services
from sxs_eval.services.comparisons import change_replication
from sxs_eval.services.quality import exclude_rater
from tests.allocation.test_exact_replication import assert_exact
from tests.concurrency import together, together_with_errors
from tests.factories import NOW, make_comparison, make_rater

PAIRS, RATERS = 40, 6
LEASE = timedelta(minutes=30)
LATER = NOW + LEASE


class From(Random):
    """Begins at one place of the pool's order."""

    def __init__(self, place: int) -> None:
        super().__init__(0)
        self.place = place

    def randrange(self, *_limits: int) -> int:
        return self.place


def in_order(comparison: Comparison) -> None:
    for place, task in enumerate(Task.objects.filter(pool=comparison.pool_id).order_by("pk")):
        Task.objects.filter(pk=task.pk).update(shuffle_key=place)


def judge_all(batch: JudgingBatch, rater: User, now: datetime) -> None:
    for position in batch.judgements.values_list("position", flat=True):
        services.judge(batch_id=batch.pk, person=rater, position=position, choice=1, now=now)


def crossing(comparison: Comparison) -> list[User]:
    """Raters of whom every other one did the first half and holds the second, and the rest the other way round."""
    raters = [make_rater(comparison) for _ in range(RATERS)]
    for number, rater in enumerate(raters):
        take = partial(
            services.take_batch, comparison=comparison, person=rater, now=NOW, rng=From(PAIRS // 2 * (number % 2))
        )
        judge_all(take(), rater, NOW)
        take()
    return raters


def leave_out(comparison: Comparison, rater: User) -> None:
    exclude_rater(comparison=comparison, rater=rater, note="", by=comparison.project.created_by, now=NOW)


@pytest.fixture
def comparison(db) -> Comparison:
    made = make_comparison(images=PAIRS, replication=RATERS, batch_size=PAIRS // 2, lease_s=int(LEASE.total_seconds()))
    in_order(made)
    return made


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_raters_with_each_others_pairs_are_left_out_at_once(comparison):
    raters = crossing(comparison)
    together(partial(leave_out, comparison), raters)
    assert not Task.objects.filter(places_taken__gt=0).exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_batches_are_resumed_while_others_lapse(comparison):
    raters = crossing(comparison)
    first = {
        rater: JudgingBatch.objects.filter(lease__person=rater, lease__state=BatchState.OPEN).get() for rater in raters
    }
    assert first
    acts: list[Callable[[], object]] = [
        partial(services.resume_batch, batch_id=batch.pk, person=rater, now=LATER) for rater, batch in first.items()
    ]
    who = {"by": comparison.project.created_by, "now": NOW}
    changes = partial(change_replication, comparison=comparison, **who)
    acts += [partial(changes, replication=number) for number in (RATERS - 1, RATERS)]
    acts += [partial(leave_out, comparison, rater) for rater in raters[:3]]
    acts += [partial(expire_overdue, now=LATER)] * 2
    outcomes = together_with_errors(lambda act: act(), acts)
    # Whoever comes last may find that the places of the lower replication have all gone.
    expected = (NotQualifiedError, NoTasksAvailableError)
    wrong = [one for one in outcomes if isinstance(one, BaseException) and not isinstance(one, expected)]
    assert not wrong
    assert_exact(comparison.pool)


def left_out_just_after_the_check(monkeypatch: pytest.MonkeyPatch, comparison: Comparison) -> None:
    """What keeps somebody from judging is looked up; then a manager leaves them out, before the work is theirs."""
    check = permissions.missing_requirements

    def check_then_leave_out(rater: User, asked: Comparison) -> list[MissingRequirement]:
        checked = check(rater, asked)
        if not checked:
            leave_out(comparison, rater)
        return checked

    monkeypatch.setattr(services, "missing_requirements", check_then_leave_out)


def test_who_is_left_out_while_taking_a_batch_gets_none(comparison, monkeypatch):
    left_out_just_after_the_check(monkeypatch, comparison)
    with pytest.raises(NotQualifiedError):
        services.take_batch(comparison=comparison, person=make_rater(comparison), now=NOW, rng=Random(1))
    assert not Task.objects.filter(places_taken__gt=0).exists()
    assert not JudgingBatch.objects.exists()


def test_who_is_left_out_while_taking_a_batch_up_again_does_not_get_it(comparison, monkeypatch):
    rater = make_rater(comparison)
    batch = services.take_batch(comparison=comparison, person=rater, now=NOW, rng=Random(1))
    services.return_batch(batch_id=batch.pk, person=rater, now=NOW)
    left_out_just_after_the_check(monkeypatch, comparison)
    with pytest.raises(NotQualifiedError):
        services.resume_batch(batch_id=batch.pk, person=rater, now=NOW)
    assert not Task.objects.filter(places_taken__gt=0).exists()
