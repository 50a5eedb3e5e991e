"""Somebody reports an image: the place goes back, the image never comes back, and two reports pause it."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.http import Http404
from django.utils import timezone

from annotation.models import Rating, Stage
from annotation.selectors.work import items_of, work_of
from annotation.services import batches, verification
from core.allocation.models import AssignmentState, BatchState
from core.allocation.services.errors import NoTasksAvailableError, TaskGoneError
from core.conversation import services
from core.conversation.models import ImageReport, ReportedImage, ReportedState
from core.conversation.rules import ReportReason
from core.people.models import AuditEntry
from core.people.services.accounts import delete_account
from gapgame.models import TurnOutcome
from gapgame.services import playing
from office.recruitment.models import Participant
from office.recruitment.selectors.work import batches_done
from sxs_eval.models import Judgement, TrialKind
from sxs_eval.services import judging
from tests.allocation.test_exact_replication import assert_exact
from tests.annotation.submitting import submit_captions, take
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification
from tests.annotation.verifying import take as take_to_rate
from tests.clients import client_of
from tests.conversation.reporting import images_in, report
from tests.factories import (
    NOW,
    make_annotator,
    make_comparison,
    make_player,
    make_rater,
    make_round,
    make_season,
)
from tests.recruitment.panel import make_study

pytestmark = pytest.mark.django_db


class TestSkipping:
    def test_the_place_goes_back_and_the_rest_of_the_batch_can_be_submitted(self):
        round = make_round(images=3, replication=1)
        ann, bob = make_annotator(round), make_annotator(round)
        batch = take(round, ann)
        gone = batch.items.get(position=2)

        report(batch, 2, comment="Only grey.")

        assert_exact(round.pool)
        assert gone.assignment.task.assignments.get().state == AssignmentState.REPORTED
        assert images_in(take(round, bob)) == {gone.image_id}
        who = {"batch_id": batch.pk, "person": ann, "now": NOW}
        batches.save_ratings(ratings=dict.fromkeys((1, 3), Rating.GOOD), **who)
        batches.open_writing(**who)
        for position in (1, 3):
            batches.save_draft(position=position, text="Ein Satz dazu.", revision=0, active_ms=0, **who)
        submitted = batches.submit_batch(**who)
        assert submitted.stage == Stage.SUBMITTED
        assert round.captions.count() == 2
        assert_exact(round.pool)

    def test_the_image_never_comes_back_to_who_reported_it(self):
        round = make_round(images=3, replication=1)
        ann = make_annotator(round)
        batch = take(round, ann)
        report(batch)
        batches.return_batch(batch_id=batch.pk, person=ann, now=NOW)
        resumed = batches.resume_batch(batch_id=batch.pk, person=ann, now=NOW)

        assert resumed.assignments.filter(state=AssignmentState.ASSIGNED).count() == 2
        batches.return_batch(batch_id=batch.pk, person=ann, now=NOW)
        assert batches.take_batch(round=round, person=ann, now=NOW, rng=Random(0)) is None
        assert_exact(round.pool)

    def test_a_batch_of_which_all_is_reported_is_over(self):
        round = make_round(images=2, replication=1)
        batch = take(round, make_annotator(round))
        report(batch, 1)
        report(batch, 2)

        batch.refresh_from_db()
        batch.lease.refresh_from_db()
        assert (batch.stage, batch.lease.state) == (Stage.SUBMITTED, BatchState.DONE)
        page = client_of(batch.lease.person).get(f"/batches/{batch.pk}/", follow=True)
        assert page.status_code == 200

    def test_a_batch_of_which_all_is_reported_is_no_work_that_a_panel_pays_for(self):
        round = make_round(images=2, replication=2, batch_size=2)
        ann = make_annotator(round)
        about: dict[str, Any] = {"study": make_study(round.project), "user": ann, "panel_id": "5f1a"}
        participant = Participant.objects.create(**about, arrived_at=NOW)
        batch = take(round, ann)
        report(batch, 1)
        assert [work.open_batch.size for work in work_of(ann, NOW)] == [1]
        report(batch, 2)
        assert batches_done(participant) == 0

    def test_screen_2_goes_on_with_the_next_image(self):
        round = make_round(images=2, replication=1)
        batch = take(round, make_annotator(round))
        who = {"batch_id": batch.pk, "person": batch.lease.person, "now": NOW}
        batches.save_ratings(ratings=dict.fromkeys((1, 2), Rating.GOOD), **who)
        batches.open_writing(**who)
        report(batch, 1)

        batch.refresh_from_db()
        assert batch.stage == Stage.WRITE
        assert list(items_of(batch).values_list("position", flat=True)) == [2]
        assert_exact(round.pool)

    def test_a_rating_of_an_image_that_was_reported_is_refused_and_the_others_are_saved(self):
        round, now = make_round(images=2, replication=1), timezone.now()
        batch = take(round, make_annotator(round), now=now)
        who = {"batch_id": batch.pk, "person": batch.lease.person, "now": now}
        report(batch, 1, now=now)

        with pytest.raises(TaskGoneError):
            batches.save_rating(position=1, rating=Rating.GOOD, active_ms=0, **who)
        with pytest.raises(TaskGoneError):
            batches.save_ratings(ratings=dict.fromkeys((1, 2), Rating.GOOD), **who)
        assert list(batch.items.values_list("rating", flat=True)) == ["", Rating.GOOD]
        ratings = {"rating-1": Rating.BAD, "rating-2": Rating.BAD}
        page = client_of(batch.lease.person).post(f"/batches/{batch.pk}/rate/", ratings, follow=True)
        assert "no longer assigned to you: 1. Your other ratings were saved." in page.content.decode()
        assert list(batch.items.values_list("rating", flat=True)) == ["", Rating.BAD]

    def test_a_rating_of_a_caption_that_was_reported_is_refused_and_the_others_are_saved(self):
        round = make_round(images=2, replication=1)
        submit_captions(round, make_annotator(round))
        batch = take_to_rate(checked := make_verification(round), make_reviewer(checked))
        who = {"batch_id": batch.pk, "person": batch.lease.person, "now": NOW}
        report(batch, 1, "ratings")

        with pytest.raises(TaskGoneError):
            verification.save_verdict(position=1, rating=Rating.GOOD, active_ms=0, **who)
        ratings = {"rating-1": Rating.BAD, "rating-2": Rating.BAD}
        page = client_of(batch.lease.person).post(f"/ratings/{batch.pk}/", ratings, follow=True)
        assert "no longer assigned to you: 1. Your other ratings were saved." in page.content.decode()
        assert list(batch.verdicts.order_by("position").values_list("rating", flat=True)) == ["", Rating.BAD]

    def test_a_report_after_the_deadline_is_kept_and_the_image_does_not_come_back_with_the_batch(self):
        round = make_round(images=2, replication=1)
        batch = take(round, make_annotator(round))
        late = batch.lease.deadline

        assert report(batch, comment="Only grey.", now=late)
        assert report(batch, now=late)
        assert ImageReport.objects.get().comment == "Only grey."
        assert_exact(round.pool)
        resumed = batches.resume_batch(batch_id=batch.pk, person=batch.lease.person, now=late)
        assert list(resumed.assignments.filter(state="assigned").values_list("position", flat=True)) == [2]
        batches.return_batch(batch_id=batch.pk, person=batch.lease.person, now=late)
        assert report(batch, 2, now=late)
        assert client_of(batch.lease.person).get(f"/batches/{batch.pk}/", follow=True).status_code == 200
        assert_exact(round.pool)

    def test_an_expired_batch_of_which_the_rest_is_reported_is_over(self):
        round = make_round(images=1, replication=1)
        batch = take(round, make_annotator(round))
        batches.save_ratings(ratings={1: Rating.GOOD}, batch_id=batch.pk, person=batch.lease.person, now=NOW)
        batches.open_writing(batch_id=batch.pk, person=batch.lease.person, now=NOW)
        report(batch, now=batch.lease.deadline)

        assert client_of(batch.lease.person).get(f"/batches/{batch.pk}/", follow=True).status_code == 200

    def test_a_report_of_what_was_submitted_is_kept_and_the_answer_stays(self):
        round = make_round(images=2, replication=1)
        submit_captions(round, make_annotator(round))
        batch = round.batches.get()
        page = client_of(batch.lease.person).post(
            f"/report/captions/{batch.pk}/1/", {"reason": "offensive", "comment": "A face."}, follow=True
        )

        assert "Your submitted answer does not change." in page.content.decode()
        assert ImageReport.objects.get().comment == "A face."
        assert round.captions.counted().count() == 2
        assert_exact(round.pool)

    def test_nobody_reports_an_image_of_anybody_else(self):
        round = make_round(images=2, replication=1)
        batch = take(round, make_annotator(round))

        with pytest.raises(Http404):
            report(batch, 3)
        batch.lease.person = make_annotator(round)
        with pytest.raises(Http404):
            report(batch)
        assert not ImageReport.objects.exists()

    def test_a_caption_to_rate_is_skipped_too(self):
        written = make_round(images=2, replication=1)
        submit_captions(written, make_annotator(written))
        round = make_verification(written, places=1)
        batch = take_to_rate(round, make_reviewer(round))
        report(batch, 1, kind="ratings", reason=ReportReason.LANGUAGE)

        who = {"batch_id": batch.pk, "person": batch.lease.person, "now": NOW}
        verification.save_verdicts(ratings={2: Rating.GOOD}, **who)
        verification.submit_batch(**who)
        assert_exact(round.pool)
        report_of_two = take_to_rate(round, make_reviewer(round))
        report(report_of_two, 1, kind="ratings")
        report_of_two.refresh_from_db()
        assert report_of_two.submitted_at == NOW

    def test_a_pair_is_skipped_with_its_repeat_and_cannot_be_answered_any_more(self):
        comparison = make_comparison(images=2, replication=1, repeat_percent=50)
        rater = make_rater(comparison)
        batch = judging.take_batch(comparison=comparison, person=rater, now=NOW, rng=Random(1))
        trials = Judgement.objects.filter(batch=batch, kind=TrialKind.PAIR).order_by("position")
        for trial in trials:
            report(batch, trial.position, kind="pairs")

        with pytest.raises(judging.StaleTrialError):
            judging.judge(batch_id=batch.pk, person=rater, position=trials[0].position, choice=1, now=NOW)
        batch.lease.refresh_from_db()
        assert batch.lease.state == BatchState.DONE
        assert_exact(comparison.pool)
        other = judging.take_batch(comparison=comparison, person=make_rater(comparison), now=NOW, rng=Random(1))
        assert other.lease.assignments.count() == 2


def test_a_report_of_a_turn_skips_its_sentence_and_shows_no_image_before_its_hint():
    season = make_season(starts_at=NOW, ends_at=NOW + timedelta(days=30000))
    player = make_player(season)
    who: dict[str, Any] = {"player_id": player.pk, "user": player.user, "now": timezone.now()}
    playing.take_batch(**who, language="en", rng=Random(1))
    turn = playing.open_turn(**who)
    assert turn is not None
    client, address = client_of(player.user), f"/report/turns/{turn.pk}/1/"

    assert client.get(address).status_code == 404
    type(turn).objects.update(attempts_made=1)
    shown = client.get(address).content.decode()
    assert turn.item.word not in shown
    assert "An Author" not in shown
    assert client.get(f"/report/turns/{turn.pk}/2/").status_code == 404
    assert "The caption is in another language" not in shown
    assert client.post(address, {"reason": "language"}).status_code == 422, "there is no caption"
    api: dict[str, Any] = {"path": f"/api/v1/work/reports/turns/{turn.pk}/1/", "content_type": "application/json"}
    refused = client.post(**api, data={"reason": "language"})
    assert "broken, offensive, wrong_image, indescribable" in refused.json()["errors"]["reason"][0]
    turn.refresh_from_db()
    assert turn.outcome == TurnOutcome.OPEN
    went_on = client.post(address, {"reason": "wrong_image"})
    turn.refresh_from_db()
    player.refresh_from_db()
    assert (turn.outcome, turn.score, player.total, player.turns) == (TurnOutcome.SKIPPED, 0, 0, 0)
    following = player.all_turns.get(outcome=TurnOutcome.OPEN)
    assert went_on["Location"] == f"/game/turns/{following.pk}/"
    assert "Reported. Thank you!" in client.get(went_on["Location"]).content.decode()
    assert client.get(f"/report/turns/{turn.pk}/2/").status_code == 404, "its images were no hints"
    type(turn).objects.filter(pk=following.pk).update(outcome=TurnOutcome.WAITING, opened_at=None)
    again = client.post(address, {"reason": "offensive"})
    assert again["Location"] == f"/game/turns/{turn.pk}/", "once more, to no effect"
    assert not player.all_turns.filter(outcome=TurnOutcome.OPEN).exists(), "a sentence opens when its player wants it"
    reported = ReportedImage.objects.get()
    assert reported.image_id == turn.item.images.get(position=0).image_id
    assert reported.reports.get().reason == "wrong_image"
    skips = client_of(season.project.created_by).get(f"/projects/{season.project.slug}/game/{season.slug}/skipped/")
    assert "Reported: 1" in skips.content.decode()
    ReportedImage.objects.update(state=ReportedState.PAUSED)
    other = make_player(season)
    playing.take_batch(player_id=other.pk, user=other.user, language="en", now=timezone.now(), rng=Random(1))
    assert not other.all_turns.filter(item=turn.item_id).exists()


class TestPausing:
    def two_reports(self):
        round = make_round(images=1, replication=3)
        for _ in range(2):
            report(take(round, make_annotator(round)))
        return round, ReportedImage.objects.get()

    def test_two_people_pause_an_image_until_a_manager_resumes_it(self):
        round, reported = self.two_reports()
        eve, manager = make_annotator(round), round.project.created_by

        assert reported.state == ReportedState.PAUSED
        assert batches.take_batch(round=round, person=eve, now=NOW, rng=Random(0)) is None
        services.decide_image(reported_id=reported.pk, state=ReportedState.RESUMED, by=manager, now=NOW)
        batch = take(round, eve)
        assert AuditEntry.objects.get(project=round.project).action == "image.given-again"
        report(batch)
        reported.refresh_from_db()
        assert reported.state == ReportedState.REPORTED, "the reports before the decision are answered"

    def test_a_paused_image_does_not_come_with_a_batch_that_is_resumed(self):
        round = make_round(images=2, replication=3)
        ann = make_annotator(round)
        batch = take(round, ann)
        batches.return_batch(batch_id=batch.pk, person=ann, now=NOW)
        image = batch.items.get(position=1).image
        ReportedImage.objects.create(project=round.project, image=image, state="paused", reported_at=NOW)

        resumed = batches.resume_batch(batch_id=batch.pk, person=ann, now=NOW)
        assert [one.item.position for one in resumed.assignments.filter(state="assigned")] == [2]

    def test_new_rounds_and_comparisons_leave_a_withdrawn_image_out(self):
        round, reported = self.two_reports()
        manager = round.project.created_by
        services.decide_image(reported_id=reported.pk, state=ReportedState.WITHDRAWN, by=manager, now=NOW)
        about: dict[str, Any] = {"project": round.project, "collection": round.collection}

        assert not make_round(**about, language="fr").tasks.exists()
        assert not make_comparison(**about).pairs.exists()
        assert make_round(collection=round.collection).tasks.count() == 1, "in another project"

    def test_reports_that_a_judged_caption_is_in_another_language_pause_the_image_in_theirs_alone(self):
        german, _authors = make_captioned_round(images=1, captions=1)
        said: dict[str, Any] = {"reason": ReportReason.LANGUAGE}
        about: dict[str, Any] = {"project": german.project, "collection": german.collection}
        ann = make_annotator(later := make_round(**about, number=2))
        batch = take(later, ann)
        batches.return_batch(batch_id=batch.pk, person=ann, now=NOW)
        ratings = make_verification(german, number=3, places=3)
        for _ in range(2):
            report(take_to_rate(ratings, make_reviewer(ratings)), kind="ratings", **said)

        assert take_to_rate(ratings, make_reviewer(ratings)) is None
        with pytest.raises(NoTasksAvailableError):
            batches.resume_batch(batch_id=batch.pk, person=ann, now=NOW)
        french = make_comparison(**about, language="fr")
        seen: dict[str, Any] = {"comparison": french, "now": NOW, "rng": Random(1)}
        report(judging.take_batch(person=make_rater(french), **seen), kind="pairs", **said)
        assert judging.take_batch(person=make_rater(french), **seen)
        assert_exact(ratings.pool)
        paused = ReportedImage.objects.get(language="de")
        assert ReportedImage.objects.get(language="fr").state == ReportedState.REPORTED
        client, slug = client_of(german.project.created_by), german.project.slug
        assert "Caption: German" in client.get(f"/projects/{slug}/inbox/").content.decode()
        client.post(f"/projects/{slug}/inbox/images/{paused.pk}/", {"state": "withdrawn"})
        assert not make_round(**about, number=4).tasks.exists()
        assert make_round(**about, language="fr").tasks.exists()
        assert not make_comparison(**about).pairs.exists()

    def test_the_english_caption_of_screen_1_is_the_same_in_each_language_and_so_is_a_pause_for_it(self):
        german = make_round(images=1, replication=3)
        french = make_round(project=german.project, collection=german.collection, language="fr", replication=3)
        for round in (german, french):
            report(batch := take(round, make_annotator(round)), reason=ReportReason.LANGUAGE)
            report(batch)

        reported = ReportedImage.objects.get()
        assert (reported.language, reported.state) == (None, ReportedState.PAUSED)
        for round in (german, french):
            late = make_annotator(round)
            assert batches.take_batch(round=round, person=late, now=NOW, rng=Random(0)) is None

    def test_one_person_alone_pauses_nothing(self):
        round = make_round(images=1, replication=3)
        batch = take(round, make_annotator(round))
        report(batch)
        report(batch)

        assert ImageReport.objects.count() == 1
        assert ReportedImage.objects.get().state == ReportedState.REPORTED
        assert_exact(round.pool)


def test_what_somebody_said_goes_with_their_account(django_capture_on_commit_callbacks):
    round = make_round(images=1, replication=3)
    batch = take(round, make_annotator(round))
    report(batch, comment="I am Ann.")

    delete_account(user=batch.lease.person, now=NOW)
    assert ImageReport.objects.get().comment == ""
