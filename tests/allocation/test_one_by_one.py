"""Tasks that are done one by one: each counts by itself, the batch only says what is in hand."""

from __future__ import annotations

import pytest
from django.db import transaction

from core.allocation.models import AssignmentState, Batch, BatchState, Task
from core.allocation.services.lifecycle import (
    expire_overdue,
    finish_assignment,
    finish_batch,
    reject_work,
    reopen_assignment,
)
from tests.allocation.test_exact_replication import HOLD_S, assert_exact, locked, make_pool, return_batch, take
from tests.factories import MINUTE, NOW, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
LATER = NOW + (HOLD_S // 60 + 1) * MINUTE


def do(batch: Batch, count: int) -> None:
    for assignment in batch.assignments.filter(state=AssignmentState.ASSIGNED)[:count]:
        finish_assignment(assignment=assignment)


def states(batch: Batch) -> list[str]:
    return sorted(batch.assignments.values_list("state", flat=True))


def test_what_is_done_keeps_its_place_when_the_rest_expires():
    pool = make_pool(3, places=1)
    batch = take(pool, make_user())
    do(batch, 2)
    assert expire_overdue(now=LATER) == 1
    batch.refresh_from_db()
    assert (batch.state, states(batch)) == (BatchState.EXPIRED, ["done", "done", "expired"])
    assert_exact(pool)
    assert take(pool, make_user(), now=LATER).assignments.count() == 1


def test_a_batch_of_which_all_is_done_is_done_when_its_time_is_over():
    pool = make_pool(2)
    batch = take(pool, make_user())
    do(batch, 2)
    expire_overdue(now=LATER)
    batch.refresh_from_db()
    assert (batch.state, states(batch)) == (BatchState.DONE, ["done", "done"])
    assert_exact(pool)


def test_what_is_reopened_is_held_again_and_expires_with_the_rest():
    pool = make_pool(2)
    batch = take(pool, make_user())
    do(batch, 2)
    first = batch.assignments.first()
    reopen_assignment(assignment=first)
    assert states(batch) == ["assigned", "done"]
    expire_overdue(now=LATER)
    assert states(batch) == ["done", "expired"]
    reopen_assignment(assignment=first)
    finish_assignment(assignment=first)
    assert states(batch) == ["done", "expired"]
    assert_exact(pool)


def test_giving_back_returns_what_is_not_done():
    pool = make_pool(3)
    batch = take(pool, make_user())
    do(batch, 1)
    return_batch(batch)
    assert states(batch) == ["done", "returned", "returned"]
    assert_exact(pool)


def test_rejected_work_frees_its_places_for_others_and_for_nobody_twice():
    pool = make_pool(4, places=1, batch_size=2)
    person, other = make_user(), make_user()
    done = take(pool, person)
    do(done, 2)
    with transaction.atomic():
        finish_batch(batch=locked(done), now=NOW)
    assigned = take(pool, person)
    do(assigned, 1)
    with transaction.atomic():
        assert reject_work(pool=pool, person=person, now=NOW) == 3
    with transaction.atomic():
        assert reject_work(pool=pool, person=person, now=NOW) == 0
    assert states(done) == ["rejected", "rejected"]
    assert states(assigned) == ["rejected", "returned"]
    assert not Task.objects.filter(places_taken__gt=0).exists()
    assert take(pool, person) is None
    assert take(pool, other).assignments.count() == 2
    assert_exact(pool)
