"""Sixteen annotators at once on fifteen images: exactly two captions each, by two people, whatever happens."""

from __future__ import annotations

import threading
from collections import defaultdict
from datetime import datetime, timedelta
from functools import partial
from random import Random

import pytest

from annotation.models import Caption, CaptionBatch, CaptionItem, Rating, Round
from annotation.services import batches as services
from core.allocation.models import Batch, BatchState
from core.allocation.services.errors import (
    BatchReturnedError,
    LeaseExpiredError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolBusyError,
)
from core.allocation.services.lifecycle import expire_overdue
from core.people.models import User
from tests.allocation.test_exact_replication import assert_exact
from tests.concurrency import together
from tests.factories import NOW, make_annotator, make_round
from tests.tiers import runs

ANNOTATORS, IMAGES, REPLICATION = 16, 15, 2
LEASE = timedelta(minutes=10)


class Clock:
    """One time for all, which jumps ahead at every look, so that leases expire in the middle of things."""

    def __init__(self, rng: Random) -> None:
        self.now, self.rng, self.lock = NOW, rng, threading.Lock()

    def __call__(self) -> datetime:
        with self.lock:
            self.now += timedelta(seconds=self.rng.choice((0, 1, 5, 20)))
            return self.now


def take(round: Round, person: User, now: datetime, rng: Random) -> CaptionBatch | None:
    try:
        return services.take_batch(round=round, person=person, now=now, rng=rng)
    except PoolBusyError:
        return None


def rate_and_write(batch: CaptionBatch, person: User, clock: Clock) -> None:
    who = {"batch_id": batch.pk, "person": person}
    positions = list(batch.items.values_list("position", flat=True))
    services.save_ratings(ratings=dict.fromkeys(positions, Rating.GOOD), now=clock(), **who)
    services.open_writing(now=clock(), **who)
    services.save_draft(position=positions[0], text="Ein Satz dazu.", revision=0, active_ms=5, now=clock(), **who)
    CaptionItem.objects.filter(batch=batch, text="").update(text=f"Was {person.username} auf dem Bild sieht.")


def submit(batch: CaptionBatch, person: User, clock: Clock, _tab: int = 0) -> None:
    services.submit_batch(batch_id=batch.pk, person=person, now=clock())


def work(round: Round, person: User, clock: Clock, rng: Random) -> None:
    """Some batches of one annotator: done (sent twice at once), abandoned at any stage, given back, taken up again."""
    for _ in range(3):
        batch = take(round, person, clock(), rng)
        if batch is None:
            return
        fate = rng.choice(("do", "do", "do", "abandon", "abandon half-way", "give back", "resume"))
        try:
            if fate in ("do", "abandon half-way", "resume"):
                rate_and_write(batch, person, clock)
            if fate == "resume":
                services.return_batch(batch_id=batch.pk, person=person, now=clock())
                services.resume_batch(batch_id=batch.pk, person=person, now=clock())
            if fate in ("do", "resume"):
                together(partial(submit, batch, person, clock), range(2))
            if fate == "give back":
                services.return_batch(batch_id=batch.pk, person=person, now=clock())
            if fate.startswith("abandon"):
                return
        except (LeaseExpiredError, BatchReturnedError, NoTasksAvailableError, OpenBatchExistsError):
            continue


def finish_what_is_left(round: Round, people: list[User], clock: Clock) -> None:
    clock.now += 2 * LEASE
    expire_overdue(now=clock.now)
    for person in people:
        batch = take(round, person, clock.now, Random(0))
        if batch:
            still = Clock(Random(0))
            still.now, still.rng = clock.now, Random(0)
            rate_and_write(batch, person, still)
            services.submit_batch(batch_id=batch.pk, person=person, now=clock.now)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("run", runs(20, short=1))
def test_a_crowd_leaves_exactly_two_captions_per_image(run):
    rng = Random(run)
    round = make_round(images=IMAGES, replication=REPLICATION, lease_s=int(LEASE.total_seconds()), seed=run)
    people = [make_annotator(round) for _ in range(ANNOTATORS)]
    clock = Clock(rng)

    together(lambda person: work(round, person, clock, Random(f"{run} {person.pk}")), people)
    assert_exact(round.pool)
    finish_what_is_left(round, people, clock)

    assert_exact(round.pool)
    authors = defaultdict(list)
    for caption in Caption.objects.filter(round=round, state="counted"):
        authors[caption.image_id].append(caption.author_id)
    assert len(authors) == IMAGES
    assert all(len(by) == len(set(by)) == REPLICATION for by in authors.values())
    submitted = CaptionBatch.objects.filter(submitted_at__isnull=False)
    assert Caption.objects.count() == sum(batch.items.filter(caption__isnull=False).count() for batch in submitted)
    assert not Batch.objects.filter(state=BatchState.OPEN).exists()
