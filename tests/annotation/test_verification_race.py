"""Sixteen rivals over sixteen captions: each is rated by exactly three people, none its author, whatever happens."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from datetime import timedelta
from functools import partial
from random import Random

import pytest
from django.db.models import F

from annotation.models import CaptionItem, Rating, Round, Tally, Verdict, VerificationBatch, VerificationTask
from annotation.selectors.verification import images_being_rated, images_to_write_about
from annotation.services import batches
from annotation.services import verification as services
from annotation.services.round_batches import StaleStateError
from core.allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task
from core.allocation.services.errors import (
    BatchReturnedError,
    LeaseExpiredError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolBusyError,
)
from core.allocation.services.lifecycle import expire_overdue
from core.people.models import LanguageLevel, LanguageSkill, User
from tests.allocation.test_exact_replication import assert_exact
from tests.annotation.test_race import Clock
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification, rate, submit
from tests.concurrency import together
from tests.factories import NOW, join_project, make_annotator, make_project, make_round
from tests.tiers import runs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

RIVALS, IMAGES, PLACES = 16, 8, 3
LEASE = timedelta(minutes=10)
STOPS = (LeaseExpiredError, BatchReturnedError, StaleStateError, NoTasksAvailableError, OpenBatchExistsError)


def as_reviewer(round: Round, person: User) -> User:
    """Let somebody who wrote captions rate those of others."""
    LanguageSkill.objects.create(user=person, language=round.language, level=LanguageLevel.NATIVE)
    join_project(round.project, person)
    return person


def take(round: Round, reviewer: User, clock: Clock, rng: Random) -> VerificationBatch | None:
    try:
        return services.take_batch(round=round, person=reviewer, now=clock(), rng=rng)
    except PoolBusyError:
        return None


def submit_captions(batch: VerificationBatch, reviewer: User, clock: Clock, _tab: int = 0) -> None:
    services.submit_batch(batch_id=batch.pk, person=reviewer, now=clock())


def work(round: Round, reviewer: User, clock: Clock, rng: Random) -> None:
    """Some batches of one reviewer: done (sent twice at once), abandoned, given back, taken up again."""
    for _ in range(3):
        batch = take(round, reviewer, clock, rng)
        if batch is None:
            return
        fate = rng.choice(("do", "do", "do", "abandon", "give back", "resume"))
        try:
            if fate == "abandon":
                return
            rate(batch, reviewer, rng.choice(list(Rating)), clock())
            if fate in ("give back", "resume"):
                services.return_batch(batch_id=batch.pk, person=reviewer, now=clock())
            if fate == "resume":
                services.resume_batch(batch_id=batch.pk, person=reviewer, now=clock())
            if fate in ("do", "resume"):
                together(partial(submit_captions, batch, reviewer, clock), range(2))
        except STOPS:
            continue


def finish_what_is_left(round: Round, reviewers: list[User], clock: Clock) -> None:
    clock.now += 2 * LEASE
    expire_overdue(now=clock.now)
    for reviewer in reviewers:
        while batch := services.take_batch(round=round, person=reviewer, now=clock.now, rng=Random(0)):
            rate(batch, reviewer, now=clock.now)
            submit(batch, reviewer, clock.now)


@pytest.mark.parametrize("run", runs(2, short=1))
def test_a_crowd_leaves_exactly_three_ratings_per_caption_and_none_by_its_author(run):
    verified, authors = make_captioned_round(images=IMAGES, captions=2, seed=run)
    round = make_verification(verified, places=PLACES, filled=False, batch_size=7)
    Pool.objects.filter(pk=round.pool_id).update(lease_s=int(LEASE.total_seconds()))
    reviewers = [as_reviewer(round, author) for author in authors]
    reviewers += [make_reviewer(round) for _ in range(RIVALS - len(reviewers))]
    clock = Clock(Random(run))

    def act(reviewer: User | None) -> None:
        # Captions are still being drawn, in two workers at once, while the first ones are handed out.
        if reviewer is None:
            services.fill_verification(round_id=round.pk)
        else:
            work(round, reviewer, clock, Random(f"{run} {reviewer.pk}"))

    together(act, [None, None, *reviewers])
    assert_exact(round.pool)
    finish_what_is_left(round, reviewers, clock)

    assert_exact(round.pool)
    assert VerificationTask.objects.filter(round=round).count() == 2 * IMAGES
    people = defaultdict(list)
    for verdict in Verdict.objects.filter(assignment__state=AssignmentState.DONE).select_related("caption"):
        assert verdict.person_id != verdict.caption.author_id
        assert verdict.rating
        people[verdict.caption_id].append(verdict.person_id)
    assert len(people) == 2 * IMAGES
    assert all(len(by) == len(set(by)) == PLACES for by in people.values())
    assert not Batch.objects.filter(pool=round.pool, state=BatchState.OPEN).exists()
    done = Counter(Verdict.objects.filter(assignment__state=AssignmentState.DONE).values_list("person", flat=True))
    assert dict(Tally.objects.filter(round=round, captions__gt=0).values_list("person", "captions")) == done


def test_control_looking_first_and_then_taking_gives_a_caption_to_too_many():
    """The control: count who has it, then take it, as one would write it at first."""
    verified, _ = make_captioned_round(images=1, captions=1)
    round = make_verification(verified, places=PLACES)
    task = Task.objects.get(pool=round.pool)
    reviewers = [make_reviewer(round) for _ in range(8)]
    all_looked = threading.Barrier(len(reviewers))

    def look_then_take(reviewer: User) -> bool:
        is_free = Assignment.objects.filter(task=task).count() < PLACES
        all_looked.wait(60)
        if is_free:
            batch = Batch.objects.create(pool=round.pool, person=reviewer, taken_at=NOW, lease_s=1, deadline=NOW)
            Assignment.objects.create(task=task, batch=batch, person=reviewer, position=1)
        return is_free

    assert sum(together(look_then_take, reviewers)) > PLACES
    assert Assignment.objects.filter(task=task).count() > PLACES


@pytest.fixture
def both():
    """A round of captioning and one of rating over the same images, in two projects, and people with both to do."""
    verified, _ = make_captioned_round(images=6, captions=1)
    rating = make_verification(verified, places=20, batch_size=6)
    writing = make_round(
        project=make_project(),
        collection=verified.collection,
        captioners=verified.captioners.all(),
        replication=20,
        batch_size=6,
    )
    people = []
    for _ in range(6):
        person = make_annotator(writing)
        join_project(rating.project, person)
        people.append(person)
    return rating, writing, people


def in_both_hands(person: User) -> set[int]:
    rated = Verdict.objects.filter(person=person).values_list("caption__image", flat=True)
    return set(rated) & set(CaptionItem.objects.filter(person=person).values_list("image", flat=True))


def test_in_two_tabs_at_once_nobody_gets_an_image_both_to_rate_and_to_write_about(both):
    rating, writing, people = both

    def take_one(what: tuple[str, User]) -> None:
        kind, person = what
        if kind == "rate":
            services.take_batch(round=rating, person=person, now=NOW, rng=Random(person.pk))
        else:
            batches.take_batch(round=writing, person=person, now=NOW, rng=Random(person.pk))

    def take_until_there_is_room(what: tuple[str, User]) -> None:
        # Everybody wants all six images: on a slow machine some are told to try again in a few seconds, and do.
        for _ in range(20):
            try:
                return take_one(what)
            except PoolBusyError:
                continue
        raise AssertionError(f"{what} got nothing")

    together(take_until_there_is_room, [(kind, person) for person in people for kind in ("rate", "write")])

    assert not any(in_both_hands(person) for person in people)
    # Whoever got some of the images only, as others were taking the rest, may have got the rest in the other tab.
    assert all(Batch.objects.filter(person=person).exists() for person in people)


def test_control_looking_at_what_is_assigned_before_taking_gives_both(both):
    """The control: what would come of it if the two ways to an image did not take turns."""
    rating, writing, (person, *_) = both
    all_looked = threading.Barrier(2)

    def take_one(kind: str) -> None:
        looked = images_to_write_about(person) if kind == "rate" else images_being_rated(person)
        is_free = not looked.exists()
        all_looked.wait(60)
        pool = rating.pool if kind == "rate" else writing.pool
        if is_free:
            batch = Batch.objects.create(pool=pool, person=person, taken_at=NOW, lease_s=1, deadline=NOW)
            for position, task in enumerate(Task.objects.filter(pool=pool), start=1):
                Assignment.objects.create(task=task, batch=batch, person=person, position=position)

    together(take_one, ["rate", "write"])

    images = {
        kind: set(Assignment.objects.filter(person=person, batch__pool=round.pool).values_list(image, flat=True))
        for kind, round, image in (
            ("rate", rating, "task__verification_task__caption__image"),
            ("write", writing, "task__caption_task__image"),
        )
    }
    assert images["rate"] & images["write"]


def test_captions_that_cease_to_count_while_they_are_handed_out_leave_every_place_accounted_for():
    verified, _ = make_captioned_round(images=10, captions=1)
    round = make_verification(verified, places=PLACES, sample_size=6, batch_size=3)
    reviewers = [make_reviewer(round) for _ in range(12)]
    gone = list(VerificationTask.objects.filter(round=round).values_list("caption", flat=True))[:3]
    verified.captions.filter(pk__in=gone).update(state="excluded")
    clock = Clock(Random(0))

    def act(reviewer: User | None) -> None:
        if reviewer is None:
            services.fill_verification(round_id=round.pk)
        else:
            take(round, reviewer, clock, Random(reviewer.pk))

    together(act, [None, None, *reviewers])

    assert_exact(round.pool)
    counting = VerificationTask.objects.filter(round=round, caption__state="counted")
    assert counting.count() == 6
    assert not counting.exclude(task__places=PLACES).exists()
    assert not Verdict.objects.filter(caption__in=gone).exists()
    assert not Task.objects.filter(pool=round.pool, places_taken__gt=F("places")).exists()
