"""Closing, pausing, excluding and undoing while people take batches and hand them in: every number stays exact."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import pytest

from annotation.models import AnnotatorStatus, Caption, CaptionState, Exclusion, Round, RoundState, Tally
from annotation.rules.campaign import UnfinishedBatches
from annotation.services import annotator_status, batches, campaign
from annotation.services.round_batches import StaleStateError
from annotation.services.tallies import recount
from core.allocation.models import Assignment, AssignmentState, Batch, BatchState
from core.allocation.services import assigning
from core.allocation.services.errors import BatchReturnedError, NoTasksAvailableError, PoolBusyError, PoolClosedError
from core.people.models import AuditEntry, Delivery, User
from core.people.selectors.qualification import NotQualifiedError
from tests.allocation.test_exact_replication import assert_exact
from tests.annotation.submitting import submit_captions, take, write
from tests.concurrency import together
from tests.factories import MINUTE, NOW, make_annotator, make_round
from tests.people.hooks import make_webhook
from tests.tiers import runs

INTERRUPTED = (
    NotQualifiedError, PoolClosedError, PoolBusyError, BatchReturnedError, NoTasksAvailableError, StaleStateError,
)  # fmt: skip


def managed(round: Round, service: Callable[..., Any], /, **fields: Any) -> Callable[[], Any]:
    return partial(service, by=round.project.created_by, now=NOW, **fields)


def anew(round: Round) -> Round:
    """As a request of its own has it: threads must not share rows that are read anew."""
    return Round.objects.select_related("pool", "project", "language").get(pk=round.pk)


def try_to_take(round: Round, person: User) -> bool:
    try:
        return batches.take_batch(round=anew(round), person=person, now=NOW, rng=Random(person.pk)) is not None
    except (PoolClosedError, PoolBusyError):
        return False


def assert_captions_are_as_their_places(round: Round) -> None:
    """Who has a place of what is done has a caption that counts, and nobody else has; tallies say the same."""
    assert_exact(round.pool)
    done = Assignment.objects.filter(batch__pool=round.pool, state=AssignmentState.DONE)
    counted = Caption.objects.filter(round=round, state=CaptionState.COUNTED)
    assert set(counted.values_list("item", flat=True)) == set(done.values_list("pk", flat=True))
    for tally in Tally.objects.filter(round=round):
        assert recount(round=round, person=tally.person) == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestClosing:
    @pytest.mark.parametrize("run", runs(4, short=1))
    def test_nobody_has_anything_assigned_once_it_was_taken_back(self, run, monkeypatch):
        round = make_round(images=12, replication=2, batch_size=2)
        people = [make_annotator(round) for _ in range(6)]
        assign = assigning._assign

        def slowly(*args):
            time.sleep(0.01)
            return assign(*args)

        monkeypatch.setattr(assigning, "_assign", slowly)
        close = managed(round, campaign.close_round, round=anew(round), assigned=UnfinishedBatches.RETURN)
        calls: list[Callable[[], Any]] = [partial(try_to_take, round, person) for person in people]
        together(lambda call: call(), [*calls[:3], close, *calls[3:]])

        assert not Batch.objects.filter(pool=round.pool, state=BatchState.OPEN).exists()
        assert_exact(round.pool)

    def test_whoever_has_a_batch_when_it_is_refused_is_named(self):
        round = make_round(images=12, replication=2, batch_size=2)
        people = [make_annotator(round) for _ in range(4)]
        close = managed(round, campaign.close_round, round=anew(round))

        def try_to_close() -> bool:
            try:
                close()
            except campaign.UnfinishedBatchesError:
                return False
            return True

        calls: list[Callable[[], bool]] = [partial(try_to_take, round, one) for one in people]
        took = together(lambda call: call(), [*calls, try_to_close])
        round.refresh_from_db()
        assigned = Batch.objects.filter(pool=round.pool, state=BatchState.OPEN).count()
        assert assigned == sum(took[:4])
        assert (round.state == RoundState.CLOSED) == took[4] == (assigned == 0)

    def test_submitting_and_taking_back_at_once_is_one_or_the_other(self):
        round = make_round(images=4, replication=1, batch_size=4)
        ann = make_annotator(round)
        batch = take(round, ann)
        write(batch, ann, "Ein Bild davon")

        def submit_captions() -> None:
            with suppress(BatchReturnedError):
                batches.submit_batch(batch_id=batch.pk, person=ann, now=NOW)

        together(
            lambda call: call(),
            [
                submit_captions,
                managed(round, campaign.close_round, round=anew(round), assigned=UnfinishedBatches.RETURN),
            ],
        )
        batch.lease.refresh_from_db()
        counted = Caption.objects.filter(round=round, state=CaptionState.COUNTED).count()
        assert (batch.lease.state, counted) in ((BatchState.DONE, 4), (BatchState.RETURNED, 0))
        assert_captions_are_as_their_places(round)

    @pytest.mark.parametrize("run", runs(4, short=1))
    def test_managers_who_accept_and_reopen_at_once_take_turns(self, run):
        round = make_round(images=2)
        make_webhook(round.project, events=["round.accepted", "round.closed"])
        managed(round, campaign.close_round, round=anew(round))()

        def decide(service: Callable[..., Any]) -> bool:
            with suppress(campaign.StepNotAllowedError):
                managed(round, service, round=anew(round))()
                return True
            return False

        steps = [campaign.accept_round, campaign.reopen_round, campaign.accept_round, campaign.reopen_round]
        decided = together(decide, steps)
        round = anew(round)
        # In the order of the log each step follows from the one before, and each is told once.
        done = [entry.action for entry in AuditEntry.objects.filter(project=round.project).order_by("number")][1:]
        assert len(done) == sum(decided)
        assert "-".join(done) in ("round.accepted-round.reopened", "round.reopened", "round.accepted")
        assert round.pool.is_open == (round.state == RoundState.OPEN) == (done[-1] == "round.reopened")
        told = list(Delivery.objects.values_list("event", flat=True))
        assert sorted(told) == sorted(["round.closed", *(name for name in done if name == "round.accepted")])

    def test_without_the_guard_somebody_gets_a_batch_of_a_closed_round(self):
        """The control: look whether the round is open, then take, as one would write it at first."""
        round = make_round(images=2)
        ann = make_annotator(round)
        looked, closed = threading.Event(), threading.Event()

        def take_unguarded() -> None:
            if Round.objects.get(pk=round.pk).pool.is_open:
                looked.set()
                assert closed.wait(60)
                Batch.objects.create(pool=round.pool, person=ann, taken_at=NOW, lease_s=60, deadline=NOW + MINUTE)

        def close() -> None:
            assert looked.wait(60)
            managed(round, campaign.close_round, round=anew(round), assigned=UnfinishedBatches.RETURN)()
            closed.set()

        together(lambda call: call(), [take_unguarded, close])

        round.refresh_from_db()
        assert round.state == RoundState.CLOSED
        assert Batch.objects.filter(pool=round.pool, state=BatchState.OPEN).exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestStandings:
    @pytest.mark.parametrize("run", runs(4, short=1))
    def test_whoever_is_paused_has_nothing_assigned_whatever_they_do_meanwhile(self, run):
        round = make_round(images=12, replication=2, batch_size=2)
        ann = make_annotator(round)

        def work() -> None:
            with suppress(*INTERRUPTED):
                for _ in range(3):
                    submit_captions(anew(round), ann, f"Ein Bild davon {run}")

        pause = managed(
            round,
            annotator_status.pause,
            project=round.project,
            person=ann,
            language=round.language,
            reason="Too fast.",
        )
        together(lambda call: call(), [work, work, pause])

        assert not Batch.objects.filter(person=ann, state=BatchState.OPEN).exists()
        with pytest.raises(NotQualifiedError, match="paused"):
            take(round, ann)
        assert_captions_are_as_their_places(round)

    @pytest.mark.parametrize("run", runs(4, short=1))
    def test_replication_is_exact_through_any_interleaving(self, run):
        round = make_round(images=10, replication=2, batch_size=3, seed=run)
        people = [make_annotator(round) for _ in range(5)]
        about: dict[str, Any] = {"project": round.project, "language": round.language}

        def work(person: User) -> None:
            for turn in range(3):
                with suppress(*INTERRUPTED, AssertionError):
                    submit_captions(anew(round), person, f"Ein Bild davon {person.pk} {turn}")

        def manage(rng: Random) -> None:
            for _ in range(8):
                person = rng.choice(people[:3])
                who: dict[str, Any] = about | {"person": person, "by": round.project.created_by, "now": NOW}
                exclusion = Exclusion.objects.filter(person=person, undone_at=None).first()
                match rng.choice(("exclude", "undo", "pause", "lift", "close")):
                    case "exclude":
                        annotator_status.exclude(reason="Machine-made.", **who)
                    case "undo" if exclusion:
                        annotator_status.undo_exclusion(exclusion=exclusion, by=round.project.created_by, now=NOW)
                    case "pause":
                        annotator_status.pause(reason="Too fast.", **who)
                    case "lift":
                        annotator_status.undo_decision(**who)
                    case "close":
                        with suppress(campaign.StepNotAllowedError):
                            managed(round, campaign.close_round, round=anew(round), assigned=UnfinishedBatches.RETURN)()
                            managed(round, campaign.reopen_round, round=anew(round))()

        together(
            lambda call: call(),
            [*(partial(work, person) for person in people), *(partial(manage, Random(f"{run}{n}")) for n in range(2))],
        )

        assert_captions_are_as_their_places(round)
        stopped = AnnotatorStatus.objects.filter(state="paused").values("person")
        assert not Batch.objects.filter(person__in=stopped, state=BatchState.OPEN).exists()
        # Whatever happened: once all is undone, the rest can be written, and each image has its two captions.
        for exclusion in Exclusion.objects.filter(undone_at=None):
            annotator_status.undo_exclusion(exclusion=exclusion, by=round.project.created_by, now=NOW)
        finish(round)
        assert_captions_are_as_their_places(round)
        authors = Caption.objects.filter(round=round, state=CaptionState.COUNTED).values_list("image", "author")
        assert len(set(authors)) == len(authors) == 20

    def test_control_counting_again_without_looking_at_the_places_oversells(self):
        """The control: what undoing would do if it did not ask whether somebody else has the place by now."""
        round = make_round(images=2, replication=1)
        ann, bob = make_annotator(round), make_annotator(round)
        submit_captions(round, ann)
        annotator_status.exclude(
            project=round.project,
            person=ann,
            language=round.language,
            reason="Machine-made.",
            by=round.project.created_by,
            now=NOW,
        )
        submit_captions(round, bob)
        Caption.objects.filter(author=ann).update(state=CaptionState.COUNTED)
        assert Caption.objects.counted().filter(round=round).count() == 4


def finish(round: Round) -> None:
    """Let people who never met anything of the round write what is left."""
    for _ in range(6):
        person = make_annotator(round)
        for _ in range(4):
            with suppress(*INTERRUPTED, AssertionError):
                submit_captions(anew(round), person, f"Ein Bild davon {person.pk}")
