"""A random walk over everything that people and managers do in a language: after each step every number is exact."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any, TypeVar

import pytest
from django.db.models import Count, F, Q

from annotation.models import (
    Caption,
    CaptionState,
    Exclusion,
    Round,
    RoundFigures,
    RoundState,
    Verdict,
    VerificationTask,
)
from annotation.rules.campaign import UnfinishedBatches
from annotation.services import (
    annotator_status,
    batches,
    campaign,
    corrections,
    figures,
    projects,
    reassignment,
    tallies,
)
from annotation.services import verification as rating
from annotation.services.round_batches import StaleStateError, UnratedImagesError
from core.allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task
from core.allocation.services.errors import (
    BatchClosedError,
    BatchReturnedError,
    LeaseExpiredError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolClosedError,
)
from core.allocation.services.lifecycle import expire_overdue
from core.people.models import Role, User
from core.people.selectors.qualification import NotQualifiedError, still_takes_part
from core.people.services import audit_log
from core.people.services.accounts import delete_account
from core.people.services.consent import give_consent, withdraw_consent
from tests.allocation.test_exact_replication import assert_exact
from tests.annotation.submitting import write
from tests.annotation.verifying import make_reviewer, make_verification, rate
from tests.factories import MINUTE, NOW, make_annotator, make_round
from tests.tiers import runs

T = TypeVar("T")
STEPS, SEEDS = 30, range(3)
IMAGES, SAMPLE, LEASE = 6, 3, timedelta(minutes=30)


class NothingThereError(Exception):
    """There is nothing to take a step with."""


REFUSALS = (
    NothingThereError, NotQualifiedError, OpenBatchExistsError, BatchReturnedError, NoTasksAvailableError,
    BatchClosedError, PoolClosedError, LeaseExpiredError, UnratedImagesError, StaleStateError,
    batches.IncompleteBatchError, campaign.StepNotAllowedError, corrections.RewriteRefusedError,
    corrections.CorrectionRequestError, corrections.AlreadyRewrittenError,
)  # fmt: skip


class Walk:
    """One language with a main round, the round that verifies it meanwhile, and the people in it."""

    def __init__(self, seed: int) -> None:
        self.rng, self.now, self.texts = Random(seed), NOW, 0
        self.round = make_round(
            images=IMAGES, replication=2, batch_size=2, seed=seed, lease_s=int(LEASE.total_seconds())
        )
        self.rating = make_verification(self.round, places=2, sample_size=SAMPLE, batch_size=2, seed=seed)
        self.project, self.by = self.round.project, self.round.project.created_by
        self.people = [make_annotator(self.round) for _ in range(5)]
        self.reviewers = [*self.people[:2], *(make_reviewer(self.rating) for _ in range(2))]
        self.did: Counter[str] = Counter()

    def step(self) -> str:
        name = self.rng.choice(NAMES)
        self.now += MINUTE
        with suppress(*REFUSALS):
            getattr(self, name)()
            self.did[name] += 1
        return name

    def person(self) -> User:
        return User.objects.get(pk=self.rng.choice(self.people).pk)

    def anew(self, round: Round) -> Round:
        return Round.objects.select_related("pool", "project", "language", "verifies").get(pk=round.pk)

    def one_of(self, there: list[T]) -> T:
        if not there:
            raise NothingThereError
        return self.rng.choice(there)

    def about(self) -> dict[str, Any]:
        return {"project": self.project, "language": self.round.language, "by": self.by, "now": self.now}

    def a_batch(self, round: Round, *states: BatchState) -> Batch:
        batches = list(Batch.objects.filter(pool=round.pool_id, state__in=states).order_by("taken_at", "person"))
        return self.one_of(batches)

    def take(self) -> None:
        batches.take_batch(round=self.anew(self.round), person=self.person(), now=self.now, rng=self.rng)

    def submit(self) -> None:
        batch = self.a_batch(self.round, BatchState.OPEN, BatchState.EXPIRED)
        self.texts += 1
        with suppress(StaleStateError, LeaseExpiredError):
            write(batch.caption_batch, batch.person, f"Ein Bild davon {self.texts}", now=self.now)
        for _twice in range(2):
            batches.submit_batch(batch_id=batch.pk, person=batch.person, now=self.now)

    def work(self) -> None:
        for _ in range(2):
            person = self.person()
            batch = batches.take_batch(round=self.anew(self.round), person=person, now=self.now, rng=self.rng)
            if batch:
                self.texts += 1
                with suppress(StaleStateError):
                    write(batch, person, f"Ein Bild davon {self.texts}", now=self.now)
                batches.submit_batch(batch_id=batch.pk, person=person, now=self.now)

    def return_batch(self) -> None:
        batch = self.a_batch(self.round, BatchState.OPEN)
        batches.return_batch(batch_id=batch.pk, person=batch.person, now=self.now)

    def resume(self) -> None:
        batch = self.a_batch(self.round, BatchState.EXPIRED, BatchState.RETURNED)
        batches.resume_batch(batch_id=batch.pk, person=batch.person, now=self.now)

    def time_passes(self) -> None:
        self.now += 2 * LEASE
        expire_overdue(now=self.now)

    def move(self) -> None:
        batch = self.a_batch(self.round, BatchState.OPEN)
        reassignment.move_batch(batch=batch, to=self.person(), by=self.by, now=self.now)

    def take_from(self) -> None:
        batch = self.a_batch(self.rng.choice([self.round, self.rating]), BatchState.OPEN)
        reassignment.return_batch(batch=batch, by=self.by, now=self.now)

    def exclude(self) -> None:
        person = User.objects.get(pk=self.rng.choice([*self.people, *self.reviewers]).pk)
        for _twice in range(2):
            annotator_status.exclude(person=person, reason="Machine-made.", **self.about())

    def undo(self) -> None:
        exclusions = list(Exclusion.objects.filter(undone_at=None).order_by("at"))
        if not exclusions:
            raise NothingThereError
        for _twice in range(2):
            annotator_status.undo_exclusion(exclusion=exclusions[0], by=self.by, now=self.now)

    def pause_and_lift(self) -> None:
        person = self.person()
        annotator_status.pause(person=person, reason="Too fast.", **self.about())
        annotator_status.undo_decision(person=person, **self.about())

    def a_caption(self, state: CaptionState) -> Caption:
        captions = Caption.objects.filter(round=self.round, state=state)
        return self.one_of(list(captions.order_by("submitted_at", "image", "author")))

    def return_for_correction(self) -> None:
        caption = self.a_caption(CaptionState.COUNTED)
        corrections.return_for_correction(caption_id=caption.pk, note="Say more.", by=self.by, now=self.now)

    def rewrite(self) -> None:
        caption = self.a_caption(CaptionState.RETURNED)
        self.texts += 1
        for _twice in range(2):
            text = f"Ein Bild von etwas anderem {self.texts}"
            corrections.rewrite(caption_id=caption.pk, author=caption.author, text=text, now=self.now)

    def withdraw(self) -> None:
        person, keeps = self.person(), self.rng.random() < 0.5
        counted = Caption.objects.counted().filter(author=person).count()
        counted += Verdict.objects.filter(person=person, assignment__state=AssignmentState.DONE).count()
        for time in range(2):
            done = withdraw_consent(project=self.project, user=person, keeps_answers=keeps, now=self.now)
            assert time == 0 or done is None
            assert done is None or done.removed == (0 if keeps else counted)

    def agree_again(self) -> None:
        for person in self.people:
            if not User.objects.get(pk=person.pk).deleted_at:
                give_consent(project=self.project, user=person, version=1, now=self.now)

    def delete(self) -> None:
        if self.did["delete"] == 2 or self.rng.random() < 0.5:
            raise NothingThereError
        person = self.people.pop(self.rng.randrange(len(self.people)))
        for _twice in range(2):
            delete_account(user=person, now=self.now)

    def change(self) -> None:
        settings = projects.RoundSettings(
            replication=self.rng.choice((1, 2, 3)), batch_size=2, lease_s=int(LEASE.total_seconds()), is_open=True
        )
        projects.change_round(round=self.round, settings=settings, by=self.by, now=self.now)

    def close_and_reopen(self) -> None:
        for round in (self.rating, self.round):
            how: dict[str, Any] = {"round": self.anew(round), "by": self.by, "now": self.now}
            campaign.close_round(assigned=self.rng.choice(list(UnfinishedBatches)), **how)
            campaign.reopen_round(**how)

    def draw(self) -> None:
        rating.fill_verification(round_id=self.rating.pk)

    def take_to_rate(self) -> None:
        reviewer = User.objects.get(pk=self.rng.choice(self.reviewers).pk)
        rating.take_batch(round=self.anew(self.rating), person=reviewer, now=self.now, rng=self.rng)

    def rate(self) -> None:
        batch = self.a_batch(self.rating, BatchState.OPEN, BatchState.EXPIRED)
        rate(batch.verification_batch, batch.person, now=self.now)
        for _twice in range(2):
            rating.submit_batch(batch_id=batch.pk, person=batch.person, now=self.now)

    def check(self) -> None:
        for round in (self.round, self.rating):
            assert_exact(round.pool)
            self.check_figures(round)
        self.check_captions()
        self.check_sample()
        assert list(tallies.recount_all(self.project)) == []
        assert list(audit_log.broken_entries(self.project)) == []

    def check_captions(self) -> None:
        done = set(Assignment.objects.filter(batch__pool=self.round.pool_id, state="done").values_list("pk", flat=True))
        captions = Caption.objects.filter(round=self.round)
        counting = set(captions.counted().values_list("item", flat=True))
        to_come = set(captions.filter(state=CaptionState.RETURNED).values_list("item", flat=True))
        assert counting <= done <= counting | to_come
        counted = Task.objects.filter(pool=self.round.pool_id).annotate(
            captions=Count("assignments", filter=Q(assignments__item__caption__state=CaptionState.COUNTED))
        )
        assert not counted.filter(captions__gt=F("places")).exists()
        for caption in captions.filter(state=CaptionState.RETURNED, item__in=done):
            # A place that is kept for somebody who cannot write any more would be lost.
            assert caption.author is not None
            assert still_takes_part(caption.author, self.project.pk, Role.ANNOTATOR)

    def check_sample(self) -> None:
        tasks = VerificationTask.objects.filter(round=self.rating)
        assert not tasks.filter(caption__state=CaptionState.RETURNED).exists()
        submitted = Assignment.objects.filter(batch__pool=self.rating.pool_id, state=AssignmentState.DONE)
        assert not submitted.filter(verdict__rating="").exists()

    def check_figures(self, round: Round) -> None:
        tasks = Task.objects.filter(pool=round.pool_id)
        is_gone = tasks.filter(verification_task__isnull=False).exclude(verification_task__caption__state="counted")
        wanted = sum(tasks.exclude(pk__in=is_gone).values_list("places", flat=True))
        wanted += sum(is_gone.values_list("places_taken", flat=True))
        if RoundFigures.objects.get(pk=round.pk).wanted != wanted:
            assert round.pk in figures.stale_rounds(now=self.now + timedelta(days=1))
            figures.compute(round_id=round.pk, now=self.now)
            assert RoundFigures.objects.get(pk=round.pk).wanted == wanted

    def finish(self) -> None:
        """Whatever happened: once all is undone and what is returned is written, the rest can be written."""
        with suppress(NothingThereError):
            while True:
                self.undo()
        for caption in Caption.objects.filter(round=self.round, state=CaptionState.RETURNED):
            with suppress(corrections.RewriteRefusedError):
                corrections.rewrite(
                    caption_id=caption.pk, author=caption.author, text="Ein letzter Satz.", now=self.now
                )
        self.time_passes()
        for person in (make_annotator(self.round) for _ in range(3)):
            while batch := batches.take_batch(round=self.anew(self.round), person=person, now=self.now, rng=self.rng):
                write(batch, person, f"Ein Bild davon {person.pk}", now=self.now)
                batches.submit_batch(batch_id=batch.pk, person=person, now=self.now)
        self.draw()
        self.check()
        counted = Counter(Caption.objects.counted().filter(round=self.round).values_list("image", flat=True))
        places = dict(Task.objects.filter(pool=self.round.pool_id).values_list("caption_task__image", "places"))
        assert counted == places
        tasks = VerificationTask.objects.filter(round=self.rating, caption__state=CaptionState.COUNTED)
        assert tasks.count() >= SAMPLE


NAMES = (
    [
        name
        for name in vars(Walk)
        if not name.startswith(("_", "check", "a_")) and name not in {"step", "person", "anew", "finish"}
    ]
    + ["work"] * 6
    + ["take"] * 2
    + ["agree_again"] * 3
    + ["return_for_correction", "exclude"]
)


@pytest.mark.django_db
@pytest.mark.parametrize("seed", runs(len(SEEDS), short=1))
def test_every_number_is_exact_after_every_step(seed: int):
    walk = Walk(seed)
    walked: list[str] = []
    for _ in range(STEPS):
        walked.append(walk.step())
        try:
            walk.check()
        except AssertionError as error:
            raise AssertionError(f"After {' '.join(walked)}: {error}") from error
    Round.objects.filter(project=walk.project).update(state=RoundState.OPEN)
    Pool.objects.update(is_open=True)
    walk.finish()
