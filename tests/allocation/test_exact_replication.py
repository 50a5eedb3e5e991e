"""The number of answers per image is exact, whatever runs at the same time."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random
from threading import Barrier, Event

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.db.utils import OperationalError

from core.allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task
from core.allocation.services import assigning, lifecycle
from core.allocation.services.assigning import SHUFFLE_KEYS, resume_batch, take_batch
from core.allocation.services.errors import NoTasksAvailableError, OpenBatchExistsError, PoolBusyError, PoolClosedError
from core.allocation.services.lifecycle import expire_overdue, finish_batch, renew_lease
from core.people.models import User
from tests.concurrency import together
from tests.factories import MINUTE, NOW, make_user

pytestmark = pytest.mark.postgres

HOLD_S = 3600


def make_pool(tasks: int, *, places: int = 2, batch_size: int = 15) -> Pool:
    pool = Pool.objects.create(replication=max(places, 1), batch_size=batch_size, lease_s=HOLD_S)
    rng = Random(tasks)
    Task.objects.bulk_create(
        Task(pool=pool, shuffle_key=rng.randrange(SHUFFLE_KEYS), places=places) for _ in range(tasks)
    )
    return pool


def take(pool: Pool, person: User, now=NOW, seed: int = 0) -> Batch | None:
    return take_batch(pool=pool, person=person, now=now, rng=Random(seed), prepare=lambda batch, assignments: None)


def locked(batch: Batch) -> Batch:
    return Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)


def finish(batch: Batch, now=NOW) -> bool:
    with transaction.atomic():
        return finish_batch(batch=locked(batch), now=now)


def return_batch(batch: Batch, now=NOW) -> None:
    with transaction.atomic():
        lifecycle.return_batch(batch=locked(batch), now=now)


def assert_exact(pool: Pool) -> None:
    """Every place that is taken belongs to one assignment that holds it, and no person has two of one task."""
    taking = Assignment.objects.filter(
        task__pool=pool, state__in=[AssignmentState.ASSIGNED, AssignmentState.DONE]
    ).values_list("task", "person")
    assert len(set(taking)) == len(taking)
    per_task = Counter(task for task, _ in taking)
    for task in Task.objects.filter(pool=pool):
        assert task.places_taken == per_task[task.pk] <= task.places


@pytest.mark.django_db
class TestOnePersonAtATime:
    def test_a_batch_is_as_large_as_the_pool_says(self):
        batch = take(make_pool(40), make_user())

        assert batch.assignments.count() == 15
        assert [one.position for one in batch.assignments.all()] == list(range(1, 16))
        assert batch.deadline == NOW + timedelta(seconds=HOLD_S)

    def test_who_asks_again_gets_the_same_batch(self):
        pool, person = make_pool(40), make_user()

        assert take(pool, person) == take(pool, person)
        assert Assignment.objects.count() == 15

    def test_the_last_batch_is_smaller_and_then_nothing_is_left(self):
        pool, person = make_pool(20), make_user()
        sizes = []
        while batch := take(pool, person):
            sizes.append(batch.assignments.count())
            finish(batch)

        assert sizes == [15, 5]

    def test_a_task_never_comes_to_the_same_person_twice(self):
        pool, person = make_pool(3, places=2), make_user()
        return_batch(take(pool, person))

        assert take(pool, person) is None
        assert take(pool, make_user()).assignments.count() == 3

    def test_a_lease_that_ran_out_gives_its_places_back(self):
        pool, late, next_one = make_pool(3, places=1), make_user(), make_user()
        batch = take(pool, late)
        assert take(pool, next_one) is None

        after = batch.deadline
        assert take(pool, next_one, now=after).assignments.count() == 3
        batch.refresh_from_db()
        assert batch.state == BatchState.EXPIRED
        assert_exact(pool)

    def test_work_after_the_lease_does_not_count(self):
        pool = make_pool(3, places=1)
        batch = take(pool, make_user())

        assert finish(batch, now=batch.deadline) is False
        assert set(batch.assignments.values_list("state", flat=True)) == {AssignmentState.LATE}
        assert_exact(pool)

    def test_work_just_before_the_lease_ends_counts(self):
        batch = take(make_pool(3, places=1), make_user())

        assert finish(batch, now=batch.deadline - timedelta(milliseconds=1)) is True

    def test_the_sweep_expires_only_what_is_overdue(self):
        pool = make_pool(6, places=1, batch_size=3)
        old, new = take(pool, make_user()), take(pool, make_user(), now=NOW + 30 * MINUTE)

        assert expire_overdue(now=old.deadline) == 1
        new.refresh_from_db()
        assert new.state == BatchState.OPEN
        assert_exact(pool)

    def test_a_expired_batch_is_resumed_as_far_as_it_is_free(self):
        pool = make_pool(4, places=1, batch_size=4)
        slow, quick = make_user(), make_user()
        batch = take(pool, slow)
        later = batch.deadline
        Pool.objects.filter(pk=pool.pk).update(batch_size=1)
        finish(take(pool, quick, now=later), now=later)

        resume_batch(batch_id=batch.pk, person=slow, now=later)

        states = Counter(batch.assignments.values_list("state", flat=True))
        assert states == {AssignmentState.ASSIGNED: 3, AssignmentState.REASSIGNED: 1}
        assert_exact(pool)

    def test_a_batch_that_no_sweep_has_expired_yet_is_resumed(self):
        pool, slow = make_pool(3, places=1), make_user()
        batch = take(pool, slow)

        resumed = resume_batch(batch_id=batch.pk, person=slow, now=batch.deadline + MINUTE)

        assert resumed.is_open_at(batch.deadline + MINUTE)
        assert set(batch.assignments.values_list("state", flat=True)) == {AssignmentState.ASSIGNED}
        assert_exact(pool)

    def test_a_batch_whose_tasks_all_went_to_others_cannot_be_resumed(self):
        pool, slow = make_pool(3, places=1), make_user()
        batch = take(pool, slow)
        take(pool, make_user(), now=batch.deadline)

        with pytest.raises(NoTasksAvailableError):
            resume_batch(batch_id=batch.pk, person=slow, now=batch.deadline)

    def test_a_second_open_batch_is_not_had_by_resuming(self):
        pool, person = make_pool(40), make_user()
        first = take(pool, person)
        return_batch(first)
        second = take(pool, person)

        with pytest.raises(OpenBatchExistsError) as stopped:
            resume_batch(batch_id=first.pk, person=person, now=NOW)
        assert stopped.value.batch == second

    def test_a_place_above_a_lowered_replication_goes_with_who_had_it(self):
        pool = make_pool(3, places=2)
        batch = take(pool, make_user())
        take(pool, make_user())
        Pool.objects.update(replication=1)

        return_batch(batch)

        assert {(task.places, task.places_taken) for task in pool.tasks.all()} == {(1, 1)}
        assert take(pool, make_user()) is None

    def test_a_closed_pool_hands_out_nothing(self):
        pool = make_pool(3)
        Pool.objects.update(is_open=False)

        with pytest.raises(PoolClosedError):
            take(pool, make_user())

    def test_who_is_at_work_in_the_second_half_of_a_lease_gets_a_full_one(self):
        batch = take(make_pool(3), make_user())

        renew_lease(batch=batch, now=NOW + 20 * MINUTE)
        assert Batch.objects.get().deadline == NOW + 60 * MINUTE
        renew_lease(batch=batch, now=NOW + 40 * MINUTE)
        assert Batch.objects.get().deadline == NOW + 100 * MINUTE


@pytest.mark.django_db
class TestTheDatabaseSaysNeverToo:
    def test_a_task_cannot_be_oversold(self):
        pool = make_pool(1, places=1)
        with pytest.raises(IntegrityError, match="task_not_oversold"), transaction.atomic():
            Task.objects.filter(pool=pool).update(places_taken=2)

    def test_a_task_has_a_place(self):
        with pytest.raises(IntegrityError, match="task_has_a_place"), transaction.atomic():
            make_pool(1, places=0)

    def test_one_person_has_one_assignment_of_a_task(self):
        batch = take(make_pool(1), make_user())
        assigned = batch.assignments.get()
        with pytest.raises(IntegrityError), transaction.atomic():
            Assignment.objects.create(task=assigned.task, batch=batch, person=assigned.person, position=2)

    def test_one_position_of_a_batch_holds_one_assignment(self):
        batch = take(make_pool(1), make_user())
        other = make_pool(1).tasks.get()
        with pytest.raises(IntegrityError), transaction.atomic():
            Assignment.objects.create(task=other, batch=batch, person=batch.person, position=1)

    def test_one_person_has_one_open_batch_of_a_pool(self):
        batch = take(make_pool(1), make_user())
        with pytest.raises(IntegrityError), transaction.atomic():
            Batch.objects.create(pool=batch.pool, person=batch.person, taken_at=NOW, lease_s=HOLD_S, deadline=NOW)

    @pytest.mark.parametrize(
        ("model", "values", "name"),
        [
            (Batch, {"state": "nowhere"}, "batch_state_known"),
            (Assignment, {"state": "nowhere"}, "assignment_state_known"),
            (Pool, {"replication": 0}, "pool_replication_positive"),
            (Pool, {"batch_size": 0}, "pool_batch_not_empty"),
            (Pool, {"lease_s": 0}, "pool_hold_positive"),
        ],
    )
    def test_a_row_outside_its_range_is_refused(self, model, values, name):
        take(make_pool(1), make_user())
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            model.objects.update(**values)


@pytest.mark.django_db(transaction=True)
class TestAllAtOnce:
    def test_rivals_for_the_last_place_do_not_oversell_it(self):
        pool = make_pool(1, places=1)
        rivals = [make_user() for _ in range(8)]

        batches = together(lambda person: take(pool, person), rivals)

        assert sum(batch is not None for batch in batches) == 1
        assert_exact(pool)

    def test_two_tabs_of_one_person_get_one_batch(self):
        pool, person = make_pool(40), make_user()

        batches = together(lambda tab: take(pool, person, seed=tab), range(6))

        assert len({batch.pk for batch in batches}) == 1
        assert_exact(pool)

    def test_a_crowd_gets_whole_batches_while_there_is_enough_for_all(self):
        pool = make_pool(200, places=1, batch_size=10)
        crowd = [make_user() for _ in range(16)]

        batches = together(lambda person: take(pool, person, seed=person.pk), crowd)

        assert [batch.assignments.count() for batch in batches] == [10] * 16
        assert_exact(pool)

    @pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
    def test_places_that_a_rival_holds_for_longer_are_busy_and_not_gone(self, monkeypatch):
        monkeypatch.setattr(assigning, "BUSY_PAUSES_S", (0.0, 0.01))
        pool, person = make_pool(2), make_user()
        is_held, may_end = Event(), Event()

        def take_or_hold(is_rival: bool) -> Batch | None:
            if is_rival:
                with transaction.atomic():
                    list(Task.objects.filter(pool=pool).select_for_update())
                    is_held.set()
                    may_end.wait(60)
                return None
            is_held.wait(60)
            try:
                return take(pool, person)
            finally:
                may_end.set()

        with pytest.raises(PoolBusyError):
            together(take_or_hold, [True, False])
        assert take(pool, person).assignments.count() == 2

    def test_without_the_guard_the_same_rivals_oversell(self):
        """The control: look, then take, as one would write it at first. It shows that the race is there to be lost."""
        pool = make_pool(1, places=1)
        task = pool.tasks.get()
        rivals = [make_user() for _ in range(8)]
        taken, all_have_looked = [], Barrier(8, timeout=60)

        def take_unguarded(person: User) -> None:
            is_free = Assignment.objects.filter(task=task).count() < task.places
            all_have_looked.wait()
            if is_free:
                batch = Batch.objects.create(
                    pool=pool, person=person, taken_at=NOW, lease_s=HOLD_S, deadline=NOW + MINUTE
                )
                Assignment.objects.create(task=task, batch=batch, person=person, position=1)
                taken.append(person)

        together(take_unguarded, rivals)

        assert len(taken) > 1

    def test_the_counter_holds_even_where_the_look_was_stale(self):
        """The constraint alone stops a raise that nobody checked before."""
        pool = make_pool(1, places=2)

        def raise_unchecked(_: int) -> bool:
            try:
                Task.objects.filter(pool=pool).update(places_taken=F("places_taken") + 1)
            except (IntegrityError, OperationalError):
                return False
            return True

        assert sum(together(raise_unchecked, range(6))) == 2
