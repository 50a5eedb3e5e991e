"""A language on its way from pilot to verification: which step may follow which, and what each does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from annotation.models import CaptionItem, Guidelines, Round, RoundKind, RoundState
from annotation.rules import campaign as rules
from annotation.rules.campaign import UnfinishedBatches
from annotation.rules.sampling import draw_images
from annotation.services import batches, campaign, planning
from annotation.services.campaign import LanguageBeginning, StepNotAllowedError, UnfinishedBatchesError
from annotation.services.projects import change_round, settings_of
from annotation.services.rounds import add_missing_tasks, fill_round
from core.allocation.models import BatchState
from core.allocation.services.errors import BatchReturnedError, PoolClosedError
from core.allocation.services.lifecycle import expire_overdue
from core.images.models import CollectionImage
from core.people.models import AuditEntry, Delivery, Project, User, WebhookEvent
from core.people.services.audit_log import broken_entries
from research.inference.models import ModelCaption
from tests.annotation.submitting import begin_language, submit_captions, take, write
from tests.factories import (
    NOW,
    make_annotator,
    make_collection,
    make_image,
    make_language,
    make_project,
)
from tests.people.hooks import make_webhook

HOUR = timedelta(hours=1)


def begun(*, images: int = 6, pilot_images: int = 2, why_no_pilot: str = "", **fields) -> Round:
    """The first round of a language that a project was begun in."""
    beginning = LanguageBeginning(pilot_images=pilot_images, why_no_pilot=why_no_pilot)
    return begin_language(make_project(), make_collection(images), beginning=beginning, **({"batch_size": 15} | fields))


def the(kind: str, of: Round, number: int = 1) -> Round:
    return Round.objects.get(project=of.project_id, kind=kind, number=number)


def by(round: Round) -> dict[str, Any]:
    return {"by": round.project.created_by, "now": NOW}


def close(round: Round, **fields) -> Round:
    return campaign.close_round(round=round, **(by(round) | fields))


def open_it(round: Round, **fields) -> Round:
    opened = campaign.open_round(round=round, **by(round), **fields)
    if opened.kind != RoundKind.VERIFICATION:
        fill_round(round_id=opened.pk)
    return opened


def accept(round: Round) -> Round:
    return campaign.accept_round(round=round, **by(round))


def log_of(project: Project) -> list[str]:
    return list(AuditEntry.objects.filter(project=project).order_by("number").values_list("action", flat=True))


@pytest.mark.django_db
class TestBeginning:
    def test_with_a_pilot_it_is_open_and_the_main_round_waits(self):
        pilot = begun()
        states = set(Round.objects.values_list("kind", "number", "state", "sample_size"))
        assert states == {
            ("pilot", 1, "open", 2),
            ("verification", 1, "planned", None),
            ("main", 1, "planned", None),
            ("verification", 2, "planned", 600),
        }
        assert pilot.tasks.count() == 2
        assert the("verification", pilot).verifies == pilot

    def test_with_the_main_round_the_reason_is_kept_with_the_pilot_that_is_skipped(self):
        main = begun(why_no_pilot="The same people did this last year.")
        pilot = the("pilot", main)
        assert (main.kind, main.state, main.tasks.count()) == ("main", "open", 6)
        assert (pilot.state, pilot.reason) == ("skipped", "The same people did this last year.")
        assert pilot.decided_by == main.project.created_by

    def test_a_round_that_was_not_opened_hands_out_nothing_and_settings_do_not_open_it(self):
        main = the("main", begun())
        with pytest.raises(PoolClosedError):
            batches.take_batch(round=main, person=make_annotator(main), now=NOW, rng=Random(0))
        change_round(round=main, settings=settings_of(main).__class__(1, 15, 60, is_open=True), **by(main))
        main.pool.refresh_from_db()
        assert not main.pool.is_open


@pytest.mark.django_db
class TestTheWholeWay:
    def test_two_pilots_the_main_round_and_its_verification(self):
        first = begun()
        project = first.project
        close(first)
        open_it(the("verification", first))
        close(the("verification", first))
        campaign.reject_round(round=first, reason="Too short.", **by(first))
        assert the("verification", first).state == RoundState.ACCEPTED  # settled with its pilot

        second = open_it(
            planning.plan_pilot(project=project, language=first.language, seed=2, sample_size=3, **by(first))
        )
        close(second)
        rating = Round.objects.get(verifies=second)
        open_it(rating)
        close(rating)
        accept(second)
        main = open_it(the("main", first))
        close(main)
        accept(main)
        verification = Round.objects.get(verifies=main)
        open_it(verification)
        close(verification)
        accept(verification)

        assert set(Round.objects.exclude(pk=first.pk).values_list("state", flat=True)) == {"accepted"}
        assert log_of(project)[:4] == ["language.added", "round.opened", "round.closed", "round.opened"]
        assert log_of(project)[-3:] == ["round.opened", "round.closed", "round.accepted"]
        assert not list(broken_entries(project))

    def test_the_next_pilot_is_rated_by_as_many_people_as_the_last(self):
        pilot = begun()
        rating = the("verification", pilot)
        assert rating.replication == 3
        change_round(round=rating, settings=replace(settings_of(rating), replication=1), **by(pilot))
        close(pilot)
        open_it(rating)
        close(rating)
        campaign.reject_round(round=pilot, reason="Too short.", **by(pilot))
        again = planning.plan_pilot(project=pilot.project, language=pilot.language, seed=2, sample_size=3, **by(pilot))
        assert Round.objects.get(verifies=again).replication == 1
        assert Round.objects.get(verifies__kind="main").replication == 3

    def test_a_round_opens_by_the_newest_guidelines(self):
        main = begun(why_no_pilot="Known.")
        close(main)
        accept(main)
        newest = Guidelines.objects.create(project=main.project, version=2, rating="New.", writing="New.")
        assert open_it(Round.objects.get(verifies=main)).guidelines == newest

    def test_webhooks_are_told_when_a_round_is_closed_and_accepted(self):
        main = begun(why_no_pilot="Known.")
        events = [WebhookEvent.ROUND_CLOSED.value, WebhookEvent.ROUND_ACCEPTED.value]
        make_webhook(main.project, events=events)
        close(main)
        accept(main)
        assert list(Delivery.objects.order_by("pk").values_list("event", flat=True)) == events
        assert Delivery.objects.first().payload["data"]["language"] == "de"


@pytest.mark.django_db
class TestRefusals:
    def test_the_main_round_waits_for_an_accepted_pilot(self):
        pilot = begun()
        with pytest.raises(StepNotAllowedError, match="Pilot 1 is not accepted yet"):
            open_it(the("main", pilot))
        close(pilot)
        campaign.reject_round(round=pilot, reason="Too short.", **by(pilot))
        with pytest.raises(StepNotAllowedError, match="Pilot 1 was rejected"):
            open_it(the("main", pilot))
        planning.skip_pilot(project=pilot.project, language=pilot.language, reason="We met and talked.", **by(pilot))
        assert open_it(the("main", pilot)).state == RoundState.OPEN

    def test_a_pilot_is_accepted_when_its_captions_were_rated_or_it_was_said_why_not(self):
        pilot = begun()
        close(pilot)
        with pytest.raises(StepNotAllowedError, match="not been rated yet"):
            accept(pilot)
        rating = the("verification", pilot)
        campaign.skip_round(round=rating, reason="All were spot-checked.", **by(pilot))
        assert accept(pilot).state == RoundState.ACCEPTED

    def test_a_pilots_rating_is_not_decided_by_itself(self):
        pilot = begun()
        close(pilot)
        rating = open_it(the("verification", pilot))
        close(rating)
        with pytest.raises(StepNotAllowedError, match="Decided together with the pilot"):
            accept(rating)

    def test_one_pilot_at_a_time_in_a_language_that_is_there_and_nothing_taken_back_while_it_is_open(self):
        pilot = begun()
        with pytest.raises(StepNotAllowedError, match="Pilot 1 is not decided yet"):
            planning.plan_pilot(project=pilot.project, language=pilot.language, seed=2, **by(pilot))
        with pytest.raises(StepNotAllowedError, match="Close it first"):
            campaign.take_back(round=pilot, **by(pilot))
        with pytest.raises(StepNotAllowedError, match="Add it first"):
            planning.plan_pilot(project=pilot.project, language=make_language("sw"), seed=2, **by(pilot))

    def test_once_the_main_round_is_open_there_is_no_pilot_and_no_verification_before_it_is_accepted(self):
        main = begun(why_no_pilot="Known.")
        with pytest.raises(StepNotAllowedError, match="cannot run more pilots"):
            planning.plan_pilot(project=main.project, language=main.language, seed=2, **by(main))
        verification = Round.objects.get(verifies=main)
        close(main)
        with pytest.raises(StepNotAllowedError, match="not accepted yet"):
            open_it(verification)

    def test_the_main_round_is_not_skipped(self):
        main = the("main", begun())
        with pytest.raises(StepNotAllowedError, match="cannot skip"):
            campaign.skip_round(round=main, reason="Why not.", **by(main))

    def test_captions_are_verified_once_unless_that_was_skipped(self):
        main = begun(why_no_pilot="Known.")
        with pytest.raises(StepNotAllowedError, match="already"):
            planning.plan_verification(of=main, seed=3, sample_size=4, **by(main))
        campaign.skip_round(round=Round.objects.get(verifies=main), reason="Another sample.", **by(main))
        again = planning.plan_verification(of=main, seed=3, sample_size=4, **by(main))
        assert (again.number, again.sample_size, again.replication) == (2, 4, 3)


@pytest.mark.django_db
class TestUnfinishedBatches:
    def test_a_round_is_not_closed_without_saying_what_becomes_of_it(self):
        pilot = begun()
        take(pilot, make_annotator(pilot, "mina"))
        with pytest.raises(UnfinishedBatchesError, match=r"1 batch is unfinished, of mina\."):
            close(pilot)
        pilot.refresh_from_db()
        pilot.pool.refresh_from_db()
        assert pilot.state == RoundState.OPEN
        assert pilot.pool.is_open

    def test_let_finish_it_is_submitted_and_counts_and_nobody_gets_another(self):
        pilot = begun()
        mina, noor = make_annotator(pilot, "mina"), make_annotator(pilot)
        batch = take(pilot, mina)
        close(pilot, assigned=UnfinishedBatches.LET_FINISH)
        with pytest.raises(PoolClosedError):
            batches.take_batch(round=pilot, person=noor, now=NOW, rng=Random(0))
        campaign.skip_round(round=the("verification", pilot), reason="Few.", **by(pilot))
        with pytest.raises(UnfinishedBatchesError, match="of mina"):
            accept(pilot)
        write(batch, mina, "Ein Bild davon")
        batches.submit_batch(batch_id=batch.pk, person=mina, now=NOW)
        assert pilot.captions.counted().count() == 2
        assert accept(pilot).state == RoundState.ACCEPTED

    def test_taken_back_drafts_stay_and_nothing_is_assigned(self):
        pilot = begun()
        mina = make_annotator(pilot)
        batch = take(pilot, mina)
        write(batch, mina, "Ein Bild davon")
        close(pilot, assigned=UnfinishedBatches.RETURN)
        batch.lease.refresh_from_db()
        assert batch.lease.state == BatchState.RETURNED
        assert set(CaptionItem.objects.values_list("text", flat=True)) == {"Ein Bild davon 1", "Ein Bild davon 2"}
        with pytest.raises(BatchReturnedError):
            batches.submit_batch(batch_id=batch.pk, person=mina, now=NOW)
        with pytest.raises(PoolClosedError):
            batches.resume_batch(batch_id=batch.pk, person=mina, now=NOW)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_was_left_to_be_finished_can_be_taken_back_later(self):
        pilot = begun()
        take(pilot, make_annotator(pilot))
        close(pilot, assigned=UnfinishedBatches.LET_FINISH)
        assert campaign.take_back(round=pilot, **by(pilot)) == 1
        assert campaign.take_back(round=pilot, **by(pilot)) == 0
        campaign.skip_round(round=the("verification", pilot), reason="None.", **by(pilot))
        assert accept(pilot)

    def test_what_expired_is_not_assigned(self):
        pilot = begun()
        batch = take(pilot, make_annotator(pilot))
        close(pilot, now=NOW + 2 * HOUR)
        batch.lease.refresh_from_db()
        assert batch.lease.state == BatchState.EXPIRED
        assert expire_overdue(now=NOW + 2 * HOUR) == 0

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_opened_again_it_hands_out_again_until_its_captions_are_rated(self):
        pilot = begun()
        close(pilot)
        campaign.reopen_round(round=pilot, reason="Somebody was ill.", **by(pilot))
        submit_captions(pilot, make_annotator(pilot))
        assert pilot.captions.count() == 2
        close(pilot)
        open_it(the("verification", pilot))
        with pytest.raises(StepNotAllowedError, match="rating of its captions"):
            campaign.reopen_round(round=pilot, **by(pilot))

    def test_an_accepted_main_round_is_opened_again_where_places_came_free(self):
        main = begun(why_no_pilot="Known.")
        close(main)
        accept(main)
        again = campaign.reopen_round(round=main, **by(main))
        assert (again.state, again.decided_at) == (RoundState.OPEN, None)


@pytest.mark.django_db
class TestSamples:
    def keys_of(self, round: Round) -> set[str]:
        return set(CollectionImage.objects.filter(image__in=round.tasks.values("image")).values_list("key", flat=True))

    def test_the_same_seed_and_the_same_keys_draw_the_same_images(self):
        keys = [f"image-{n}" for n in range(40)]
        one = draw_images({key: n for n, key in enumerate(keys)}, seed=7, size=10)
        other = draw_images({key: 1000 - n for n, key in enumerate(keys)}, seed=7, size=10)
        assert [keys[n] for n in one] == [keys[1000 - n] for n in other]
        assert draw_images({key: n for n, key in enumerate(keys)}, seed=8, size=10) != one

    def test_drawing_goes_on_where_it_stopped(self):
        pilot = begun(images=20, pilot_images=8)
        whole = self.keys_of(pilot)
        pilot.tasks.all().delete()
        add_missing_tasks(pilot, at_most=3)
        assert pilot.tasks.count() == 3
        add_missing_tasks(pilot, at_most=100)
        assert self.keys_of(pilot) == whole
        assert add_missing_tasks(pilot) == 0

    def test_a_sample_does_not_grow_with_the_collection(self):
        pilot = begun(images=4, pilot_images=3)
        image = make_image()
        CollectionImage.objects.create(collection=pilot.collection, image=image, key="late", position=99)
        ModelCaption.objects.create(
            model=pilot.captioners.get(), image=image, language_id="en", text="An image that came late."
        )
        fill_round(round_id=pilot.pk)
        assert pilot.tasks.count() == 3

    def test_later_pilots_draw_other_images_as_far_as_there_are(self):
        first = begun(images=5, pilot_images=3)
        close(first)
        campaign.reject_round(round=first, reason="Too short.", **by(first))
        second = open_it(
            planning.plan_pilot(project=first.project, language=first.language, seed=1, sample_size=3, **by(first))
        )
        assert len(self.keys_of(second)) == 3
        assert len(self.keys_of(second) & self.keys_of(first)) == 1


@pytest.mark.django_db
class TestWhoMetAnImage:
    def decided_pilot(self) -> tuple[Round, User]:
        pilot = begun(images=4, pilot_images=2)
        mina = make_annotator(pilot)
        submit_captions(pilot, mina)
        close(pilot)
        campaign.skip_round(round=the("verification", pilot), reason="Few.", **by(pilot))
        return pilot, mina

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_others_come_first_and_those_of_the_decided_pilot_last(self):
        pilot, mina = self.decided_pilot()
        accept(pilot)
        main = open_it(the("main", pilot))
        met = set(pilot.tasks.values_list("image", flat=True))
        first = submit_captions(main, mina)
        assert not met & set(first.items.values_list("image", flat=True))
        second = submit_captions(main, mina)
        assert set(second.items.values_list("image", flat=True)) == met

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_while_the_pilot_is_undecided_its_images_do_not_come(self):
        pilot, mina = self.decided_pilot()
        main = the("main", pilot)
        Round.objects.filter(pk=main.pk).update(state=RoundState.OPEN)
        main.pool.__class__.objects.filter(pk=main.pool_id).update(is_open=True)
        main = the("main", pilot)
        add_missing_tasks(main)
        submit_captions(main, mina)
        assert batches.take_batch(round=main, person=mina, now=NOW, rng=Random(0)) is None


class TestRules:
    STEPS = (
        rules.CampaignStep("p1", "pilot", 1, "rejected"),
        rules.CampaignStep("r1", "verification", 1, "accepted", "p1"),
        rules.CampaignStep("p2", "pilot", 2, "closed"),
        rules.CampaignStep("r2", "verification", 2, "open", "p2"),
        rules.CampaignStep("m", "main", 1, "planned"),
    )

    def test_every_refusal_says_why_and_what_may_be_done_with_each_is_known(self):
        for step in self.STEPS:
            for action in rules.RoundAction:
                why = rules.why_not(action, step, self.STEPS)
                assert why is None or why.endswith(".")
        actions = {step.key: rules.actions_of(step, self.STEPS) for step in self.STEPS}
        assert actions == {"p1": [], "r1": [], "p2": [], "r2": [rules.RoundAction.CLOSE], "m": []}

    def test_a_skipped_rating_gives_way_to_another(self):
        steps = [
            rules.CampaignStep("m", "main", 1, "accepted"),
            rules.CampaignStep("v1", "verification", 1, "skipped", "m"),
            rules.CampaignStep("v2", "verification", 2, "planned", "m"),
        ]
        assert rules.verification_of(steps[0], steps).key == "v2"
        assert rules.why_not("open", steps[2], steps) is None
