"""Raters, managers and the clock in any order: what was accepted is there, and each place is one person's."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from random import Random

import pytest

from core.allocation.models import AssignmentState, Pool, Task
from core.allocation.services.errors import (
    BatchReturnedError,
    LeaseExpiredError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolBusyError,
    PoolClosedError,
)
from core.allocation.services.lifecycle import expire_overdue
from core.people.models import User
from core.people.selectors.qualification import NotQualifiedError
from research.inference.models import ModelCaption
from sxs_eval.models import Judgement, JudgingBatch, RaterState, RaterStatus, TrialKind
from sxs_eval.services import judging as services
from sxs_eval.services.comparisons import PoolSettings, change_comparison, change_replication, fill_comparison
from sxs_eval.services.quality import exclude_rater, restore_rater
from tests.allocation.test_exact_replication import assert_exact
from tests.factories import NOW, make_captioner, make_collection, make_comparison, make_rater
from tests.tiers import runs

STEPS, IMAGES, DESCRIBED, RATERS = 120, 10, 7, 5
LEASE = timedelta(minutes=30)
REFUSALS = (
    services.StaleTrialError, LeaseExpiredError, BatchReturnedError, NotQualifiedError, NoTasksAvailableError,
    PoolClosedError, PoolBusyError, OpenBatchExistsError, RaterStatus.DoesNotExist, JudgingBatch.DoesNotExist,
)  # fmt: skip


class Story:
    """One comparison, what happened to it, and beside it what must be in the database."""

    def __init__(self, seed: int) -> None:
        self.rng, self.now = Random(seed), NOW
        collection = make_collection(IMAGES)
        self.models = [make_captioner(collection, text=text, language="de") for text in ("base", "test")]
        entries = list(collection.entries.order_by("key").values_list("image_id", flat=True))
        self.unwritten = list(ModelCaption.objects.filter(model=self.models[1], image__in=entries[DESCRIBED:]))
        ModelCaption.objects.filter(pk__in=[caption.pk for caption in self.unwritten]).delete()
        self.comparison = make_comparison(
            collection=collection, base=self.models[0], test=self.models[1], replication=2, batch_size=4, seed=seed,
            lease_s=int(LEASE.total_seconds()), gold_percent=20, repeat_percent=20, checks_before_pause=2,
        )  # fmt: skip
        self.manager = self.comparison.project.created_by
        self.raters = [make_rater(self.comparison) for _ in range(RATERS)]
        self.accepted: dict[int, int] = {}
        self.answers = 0

    def step(self) -> None:
        acts: dict[Callable[[], object], int] = {
            self.take: 8, self.judge: 30, self.judge_anything: 4, self.undo: 5, self.return_batch: 2, self.resume: 4,
            self.wait: 3, self.expire: 2, self.exclude: 1, self.restore: 9, self.replicate: 1, self.fill: 1,
            self.open_or_close: 1,
        }  # fmt: skip
        self.now += timedelta(seconds=self.rng.randrange(60))
        act = self.rng.choices(list(acts), list(acts.values()))[0]
        try:
            act()
        except REFUSALS:
            return

    def rater(self) -> User:
        return self.rng.choice(self.raters)

    def batch(self) -> tuple[User, JudgingBatch]:
        """A rater and, mostly, the last batch of theirs, sometimes one that a forgotten tab shows."""
        rater = self.rater()
        batches = list(JudgingBatch.objects.filter(lease__person=rater).order_by("-lease__taken_at"))
        if not batches:
            raise JudgingBatch.DoesNotExist
        return rater, self.rng.choice([*batches, batches[0], batches[0], batches[0]])

    def take(self) -> None:
        services.take_batch(comparison=self.comparison, person=self.rater(), now=self.now, rng=self.rng)

    def judge(self) -> None:
        rater, batch = self.batch()
        waiting = batch.judgements.filter(choice=None).first()
        if waiting:
            self.answer(rater, waiting.batch, waiting.position)

    def judge_anything(self) -> None:
        rater, batch = self.batch()
        self.answer(rater, batch, self.rng.choice(batch.judgements.all()).position)

    def answer(self, rater: User, batch: JudgingBatch, position: int) -> None:
        choice = self.rng.choice((3, 3, 3, 0, -2))
        kept = services.judge(batch_id=batch.pk, person=rater, position=position, choice=choice, now=self.now)
        assert self.accepted.setdefault(kept.pk, choice) == choice
        self.answers += 1

    def undo(self) -> None:
        rater, batch = self.batch()
        position = self.rng.choice(batch.judgements.all()).position
        undone = services.undo(batch_id=batch.pk, person=rater, position=position, now=self.now)
        self.accepted.pop(undone.pk, None)

    def return_batch(self) -> None:
        rater, batch = self.batch()
        services.return_batch(batch_id=batch.pk, person=rater, now=self.now)

    def resume(self) -> None:
        rater, batch = self.batch()
        services.resume_batch(batch_id=batch.pk, person=rater, now=self.now)

    def wait(self) -> None:
        self.now += LEASE

    def expire(self) -> None:
        expire_overdue(now=self.now)

    def exclude(self) -> None:
        # Somebody must be left to do the work.
        if RaterStatus.objects.filter(state=RaterState.EXCLUDED).count() < RATERS - 3:
            exclude_rater(comparison=self.comparison, rater=self.rater(), note="", by=self.manager, now=self.now)

    def restore(self) -> None:
        restore_rater(comparison=self.comparison, rater=self.rater(), note="", by=self.manager, now=self.now)

    def replicate(self) -> None:
        replication = self.rng.choice((1, 2, 3))
        change_replication(comparison=self.comparison, replication=replication, by=self.manager, now=NOW)

    def fill(self) -> None:
        if self.unwritten:
            caption = self.unwritten.pop()
            caption.pk = None
            caption.save(force_insert=True)
        fill_comparison(comparison_id=self.comparison.pk)

    def open_or_close(self) -> None:
        self.set_open(is_open=self.rng.random() < 0.9)

    def set_open(self, *, is_open: bool, failures_percent: int = 40) -> None:
        settings = PoolSettings(4, int(LEASE.total_seconds()), is_open, 20, 20, 2, failures_percent)
        change_comparison(comparison=self.comparison, settings=settings, by=self.comparison.project.created_by, now=NOW)

    def finish(self) -> None:
        """Those who are left do what is left."""
        self.set_open(is_open=True, failures_percent=100)
        # Whoever had a pair in hand once never gets it again, so new people must be enough by themselves.
        for rater in [*self.raters, *(make_rater(self.comparison) for _ in range(3))]:
            self.now += 2 * LEASE
            expire_overdue(now=self.now)
            while batch := self.next_batch(rater):
                for waiting in batch.judgements.filter(choice=None):
                    self.answer(rater, batch, waiting.position)

    def next_batch(self, rater: User) -> JudgingBatch | None:
        with suppress(RaterStatus.DoesNotExist):
            restore_rater(comparison=self.comparison, rater=rater, note="", by=self.manager, now=self.now)
        try:
            return services.take_batch(comparison=self.comparison, person=rater, now=self.now, rng=self.rng)
        except NotQualifiedError:
            return None

    def check(self) -> None:
        pool = Pool.objects.get(pk=self.comparison.pool_id)
        assert_exact(pool)
        for task in Task.objects.filter(pool=pool):
            # Above the replication only as far as people have the places.
            assert task.places == max(pool.replication, task.places_taken)
        answered = Judgement.objects.filter(choice__isnull=False)
        assert dict(answered.values_list("pk", "choice")) == self.accepted
        excluded = set(RaterStatus.objects.filter(state=RaterState.EXCLUDED).values_list("person", flat=True))
        counted = defaultdict(list)
        for judgement in Judgement.objects.filter(kind=TrialKind.PAIR).select_related("assignment", "pair__task"):
            counts = judgement.choice is not None and not judgement.is_late and judgement.person_id not in excluded
            assert counts == (judgement.assignment.state == AssignmentState.DONE)
            if counts:
                counted[judgement.pair.task].append(judgement.person_id)
        for task, people in counted.items():
            assert len(people) == len(set(people)) <= task.places


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", runs(6, short=1))
def test_places_and_answers_stay_exact_in_whatever_order_things_happen(seed):
    story = Story(seed)
    for number in range(3 * STEPS):
        # A story in which nothing happened would prove nothing.
        if number >= STEPS and story.answers > IMAGES:
            break
        if number == STEPS // 2:
            # Rare by chance, so once for certain.
            with suppress(*REFUSALS):
                story.exclude()
        story.step()
        story.check()
    assert story.answers > IMAGES
    assert RaterStatus.objects.exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", runs(3, short=1))
def test_whatever_happened_before_every_pair_gets_exactly_its_answers(seed):
    story = Story(100 + seed)
    for _ in range(STEPS // 2):
        story.step()
    story.finish()
    story.check()
    counts = Counter(
        Judgement.objects.filter(assignment__state=AssignmentState.DONE).values_list("pair__task", flat=True)
    )
    for task in Task.objects.filter(pool=story.comparison.pool_id):
        assert counts[task.pk] == task.places
