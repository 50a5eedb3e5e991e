"""Batches in hand that a manager takes back or gives to somebody else: who gets what, what stays, and the races."""

from __future__ import annotations

import threading
from datetime import timedelta
from random import Random

import pytest
from django.urls import reverse

from annotation.models import Caption, CaptionBatch, CaptionItem, Feedback, Round, RoundState, Stage
from annotation.selectors.annotators import open_batches
from annotation.services import batches, reassignment
from core.allocation.models import Assignment, AssignmentState, Batch, BatchState
from core.allocation.services.errors import (
    BatchClosedError,
    BatchReturnedError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolClosedError,
)
from core.people.models import AuditEntry, Consent, Membership, User
from core.people.selectors.qualification import NotQualifiedError
from tests.allocation.test_exact_replication import assert_exact
from tests.annotation.submitting import submit_captions, take, write
from tests.clients import client_of
from tests.concurrency import together_with_errors
from tests.factories import NOW, join_project, make_annotator, make_captioner, make_collection, make_round
from tests.kept import kept
from tests.tiers import runs

LATER = NOW + timedelta(minutes=5)
DRAFT = "Was Ann auf dem Bild sieht"


def move(batch: CaptionBatch, to: User, *, now=LATER) -> reassignment.ReassignedBatch:
    by = batch.round.project.created_by
    return reassignment.move_batch(batch=Batch.objects.get(pk=batch.pk), to=to, by=by, now=now)


@kept
def round() -> Round:
    return make_round(images=3, replication=1)


def images_of(batch: CaptionBatch) -> set[int]:
    return set(batch.items.values_list("image", flat=True))


@pytest.mark.django_db
class TestMoving:
    @pytest.fixture
    def bea(self, round) -> User:
        return make_annotator(round, "bea")

    def test_the_other_gets_the_same_images_and_begins_anew_and_what_was_written_stays_behind(self, round, ann, bea):
        batch = take(round, ann)
        write(batch, ann, DRAFT)

        moved = move(batch, bea)

        assert (moved.moved, moved.left) == (3, 0)
        assert images_of(moved.batch) == images_of(batch)
        assert moved.batch.stage == Stage.RATE
        assert not moved.batch.items.exclude(rating="", text="").exists()
        assert_exact(round.pool)
        batch.lease.refresh_from_db()
        assert batch.lease.state == BatchState.RETURNED
        assert batch.items.filter(text__startswith=DRAFT).count() == 3
        page = client_of(bea).get(reverse("annotation:batch-rate", args=[moved.batch.pk])).content.decode()
        assert DRAFT not in page
        with pytest.raises(BatchReturnedError):
            batches.submit_batch(batch_id=batch.pk, person=ann, now=LATER)
        entry = AuditEntry.objects.get(project=round.project, action="batch.moved")
        assert (entry.by, entry.person) == (round.project.created_by, ann)
        assert entry.details["to"] == bea.pk
        assert entry.details["new_batch"] == str(moved.batch.pk)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_images_that_the_other_had_before_stay_free_for_anybody(self):
        round = make_round(images=4, replication=2, batch_size=1)
        ann, bea, cem = (make_annotator(round) for _ in range(3))
        had = images_of(submit_captions(round, bea))
        with_batches_of(round, 4)
        batch = take(round, ann)

        moved = move(batch, bea)

        assert (moved.moved, moved.left) == (3, 1)
        assert images_of(batch) - images_of(moved.batch) == had
        assert_exact(round.pool)
        assert images_of(take(round, cem)) == images_of(batch)

    def test_nothing_changes_where_the_other_had_all_of_them(self, ann, bea, round):
        batches.return_batch(batch_id=take(round, bea).pk, person=bea, now=NOW)
        batch = take(round, ann)

        with pytest.raises(NoTasksAvailableError):
            move(batch, bea)

        batch.lease.refresh_from_db()
        assert batch.lease.state == BatchState.OPEN
        assert batch.lease.assignments.filter(state=AssignmentState.ASSIGNED).count() == 3
        assert_exact(round.pool)

    def test_nobody_gets_a_second_batch(self):
        round = make_round(images=6, replication=1, batch_size=3)
        ann, bea = make_annotator(round), make_annotator(round)
        batch = take(round, ann)
        take(round, bea)

        with pytest.raises(OpenBatchExistsError):
            move(batch, bea)
        with pytest.raises(OpenBatchExistsError):
            move(batch, ann)

        assert_exact(round.pool)

    def test_an_overdue_batch_of_the_other_is_no_hindrance(self):
        round = make_round(images=6, replication=1, batch_size=3)
        ann, bea = make_annotator(round), make_annotator(round)
        overdue = take(round, bea)
        after = overdue.lease.deadline + timedelta(seconds=1)
        batch = take(round, ann, now=after)

        moved = move(batch, bea, now=after)

        overdue.lease.refresh_from_db()
        assert overdue.lease.state == BatchState.EXPIRED
        assert moved.moved + moved.left == 3
        assert_exact(round.pool)

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("missing", ["role", "consent", "language", "feedback"])
    def test_whoever_could_not_take_a_batch_gets_none(self, round, ann, bea, missing):
        batch = take(round, ann)
        manager = round.project.created_by
        {
            "role": Membership.objects.filter(user=bea).delete,
            "consent": Consent.objects.filter(user=bea).delete,
            "language": bea.language_skills.all().delete,
            "feedback": lambda: Feedback.objects.create(
                project=round.project, round=round, person=bea, text="Longer.", by=manager, at=NOW
            ),
        }[missing]()

        with pytest.raises(NotQualifiedError) as stopped:
            move(batch, bea)

        assert [missing_requirement.code for missing_requirement in stopped.value.missing_requirements] == [missing]
        assert Assignment.objects.filter(state=AssignmentState.ASSIGNED, person=ann).count() == 3

    @pytest.mark.parametrize("change", [{"state": RoundState.CLOSED}, {"pool__is_open": False}])
    def test_in_a_round_that_hands_out_nothing_nobody_gets_a_batch(self, round, ann, bea, change):
        batch = take(round, ann)
        if "state" in change:
            Round.objects.filter(pk=round.pk).update(**change)
        else:
            round.pool.is_open = False
            round.pool.save()

        with pytest.raises(PoolClosedError):
            move(batch, bea)

    def test_a_batch_that_is_not_assigned_cannot_be_moved(self, round, ann, bea):
        batch = submit_captions(round, ann)

        with pytest.raises(BatchClosedError):
            move(batch, bea)

    def test_images_that_the_other_has_assigned_elsewhere_do_not_come(self, ann, bea, round):
        elsewhere = make_round(collection=round.collection, replication=1)
        join_project(elsewhere.project, bea)
        take(elsewhere, bea)
        batch = take(round, ann)

        with pytest.raises(NoTasksAvailableError):
            move(batch, bea)

    def test_a_batch_taken_back_is_free_for_all(self, round, ann, bea):
        batch = take(round, ann)
        write(batch, ann, DRAFT)

        freed = reassignment.return_batch(batch=batch.lease, by=round.project.created_by, now=LATER)

        assert freed == 3
        assert images_of(take(round, bea, now=LATER)) == images_of(batch)
        assert batch.items.filter(text__startswith=DRAFT).count() == 3
        assert AuditEntry.objects.get(action="batch.returned").person == ann
        with pytest.raises(BatchClosedError):
            reassignment.return_batch(batch=batch.lease, by=round.project.created_by, now=LATER)


def with_batches_of(round: Round, size: int) -> None:
    round.pool.batch_size = size
    round.pool.save()


@pytest.mark.django_db
class TestThePages:
    @pytest.fixture
    def batch(self, round) -> CaptionBatch:
        return take(round, make_annotator(round, "ann"))

    def post(self, user: User, name: str, batch: CaptionBatch, **data):
        path = reverse(f"annotation:{name}", args=[batch.round.project.slug, batch.pk])
        return client_of(user).post(path, data)

    def test_a_manager_gives_it_to_somebody_and_comes_back_to_where_they_were(self, round, batch):
        Batch.objects.update(deadline=NOW.replace(year=2100))
        bea = make_annotator(round, "bea")

        response = self.post(round.project.created_by, "batch-move", batch, to=bea.pk, next="/projects/#batches")

        assert response["Location"] == "/projects/#batches"
        assert Batch.objects.get(state=BatchState.OPEN).person == bea

    def test_no_other_site_is_gone_to(self, round, batch):
        response = self.post(
            round.project.created_by, "batch-return-by-manager", batch, next="https://elsewhere.example/"
        )

        assert response["Location"] == reverse("annotation:project-show", args=[round.project.slug])
        assert Batch.objects.get().state == BatchState.RETURNED

    def test_why_not_is_said_in_words(self, round, batch):
        Batch.objects.update(deadline=NOW.replace(year=2100))
        bea = make_annotator(round, "bea")
        bea.language_skills.all().delete()
        manager = client_of(round.project.created_by)
        path = reverse("annotation:batch-move", args=[round.project.slug, batch.pk])

        page = manager.post(path, {"to": bea.pk, "next": "/projects/"}, follow=True).content.decode()

        assert "This batch cannot be reassigned to bea" in page
        assert "native or fluent" in page

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_nobody_is_not_a_person_to_move_it_to(self, round, batch):
        for to in ("", "0", "nobody", "9" * 30, "٣"):
            assert self.post(round.project.created_by, "batch-move", batch, to=to).status_code == 404, to

    def test_those_who_could_take_it_are_offered(self, round, batch):
        bea, busy = make_annotator(round, "bea"), make_annotator(round, "cem")
        Batch.objects.create(pool=round.pool, person=busy, taken_at=NOW, lease_s=1, deadline=NOW)
        make_annotator(make_round(project=round.project, language="fr"), "fay")

        (overdue,) = open_batches(round.project, busy, now=NOW)
        (open_batch,) = open_batches(round.project, batch.lease.person, now=NOW)

        assert (open_batch["batch"].pk, open_batch["batch"].images, open_batch["takers"]) == (batch.pk, 3, [bea])
        assert (overdue["is_overdue"], overdue["takers"]) == (True, [])


def submit(batch: CaptionBatch) -> None:
    batches.submit_batch(batch_id=batch.pk, person=batch.lease.person, now=LATER)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestRaces:
    @pytest.mark.parametrize("run", runs(4, short=1))
    def test_a_batch_is_submitted_or_moved_never_both(self, run):
        round = make_round(images=4, replication=1, seed=run)
        ann, bea = make_annotator(round), make_annotator(round)
        batch = take(round, ann)
        write(batch, ann, DRAFT)
        acts = [lambda: submit(batch), lambda: move(batch, bea)]

        outcomes = together_with_errors(lambda act: act(), acts if run % 2 else acts[::-1])

        errors = [type(outcome) for outcome in outcomes if isinstance(outcome, BaseException)]
        assert errors in ([BatchReturnedError], [BatchClosedError])
        was_moved = errors == [BatchReturnedError]
        assert Caption.objects.counted().count() == (0 if was_moved else 4)
        assert CaptionItem.objects.filter(person=bea).count() == (4 if was_moved else 0)
        assert_exact(round.pool)

    def test_control_without_the_lock_it_is_both(self):
        round = make_round(images=4, replication=1)
        batch = take(round, make_annotator(round)).lease
        done, both_have_looked = [], threading.Barrier(2, timeout=60)

        def unless_away(state: AssignmentState) -> None:
            if Batch.objects.get(pk=batch.pk).state == BatchState.OPEN:
                both_have_looked.wait()
                batch.assignments.update(state=state)
                Batch.objects.filter(pk=batch.pk).update(state=BatchState.DONE)
                done.append(state)

        together_with_errors(unless_away, [AssignmentState.DONE, AssignmentState.RETURNED])

        assert len(done) == 2

    @pytest.mark.parametrize("run", runs(2, short=1))
    def test_two_managers_who_move_one_batch_move_it_once(self, run):
        round = make_round(images=4, replication=2, seed=run)
        ann, rivals = make_annotator(round), [make_annotator(round) for _ in range(3)]
        batch = take(round, ann)

        outcomes = together_with_errors(lambda to: move(batch, to), rivals)

        assert sum(isinstance(outcome, reassignment.ReassignedBatch) for outcome in outcomes) == 1
        assert all(isinstance(outcome, reassignment.ReassignedBatch | BatchClosedError) for outcome in outcomes)
        assert_exact(round.pool)

    @pytest.mark.parametrize("run", runs(2, short=1))
    def test_two_who_swap_their_batches_do_not_wait_in_a_circle(self, run):
        collection = make_collection(8)
        round = make_round(
            collection=collection, captioners=[make_captioner(collection)], replication=1, batch_size=4, seed=run
        )
        ann, bea = make_annotator(round), make_annotator(round)
        hers, his = take(round, ann), take(round, bea)

        outcomes = together_with_errors(lambda pair: move(*pair), [(hers, bea), (his, ann)])

        assert all(isinstance(outcome, OpenBatchExistsError) for outcome in outcomes)
        assert_exact(round.pool)

    @pytest.mark.parametrize("run", runs(2, short=1))
    def test_places_that_are_moved_are_not_taken_by_others_meanwhile(self, run):
        round = make_round(images=4, replication=1, seed=run)
        ann, bea, others = make_annotator(round), make_annotator(round), [make_annotator(round) for _ in range(3)]
        batch = take(round, ann)
        acts = [lambda: move(batch, bea)] + [
            lambda who=who: batches.take_batch(round=round, person=who, now=LATER, rng=Random(run)) for who in others
        ]

        outcomes = together_with_errors(lambda act: act(), acts)

        assert isinstance(outcomes[0], reassignment.ReassignedBatch)
        assert outcomes[0].moved == 4
        assert all(outcome is None for outcome in outcomes[1:])
        assert_exact(round.pool)
