"""What people learn before they take a batch and after it: time, deadline and pay."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import AnnotatorState, AnnotatorStatus, Round, Tally
from core.allocation.rules.outlooks import MIN_PEOPLE, MeasuredPace, TimedWork, pace_of_others
from core.people.models import Consent, LanguageLevel, LanguageSkill, Project, User
from office.recruitment.models import Participant, ParticipantState
from sxs_eval.models import Comparison, JudgingBatch
from tests.annotation import verifying
from tests.annotation.submitting import submit_captions, take
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_comparison, make_project, make_rater, make_round
from tests.practice.making import make_practice
from tests.practice.test_practice import fails
from tests.recruitment.panel import make_study
from tests.recruitment.test_costs import rates, worked
from tests.sxs_eval import judged


def seen_on(client: Client, name: str, *arguments: object) -> str:
    page = client.get(reverse(name, args=arguments)).content.decode()
    return " ".join(unescape(re.sub("<[^>]*>", " ", page)).split())


def test_a_pace_is_the_median_of_other_people_and_of_fewer_than_three_it_is_nobodys():
    times = {person: TimedWork(answers=2, active_ms=ms) for person, ms in enumerate([200, 2000, 400, 0, 600])}
    assert pace_of_others(times, person=1) == MeasuredPace(200)
    assert pace_of_others(times, person=0) == MeasuredPace(300)
    assert MIN_PEOPLE == 3
    # One of them may look signed out.
    assert pace_of_others({one: times[one] for one in (0, 1, 2)}, person=None) is None
    assert pace_of_others(times, person=None) == MeasuredPace(250)
    assert pace_of_others({one: times[one] for one in (0, 1, 2)}, person=0) is None


@pytest.mark.django_db
class TestCaptions:
    @pytest.fixture
    def project(self) -> Project:
        return make_project("tigers")

    @pytest.fixture
    def round(self, project: Project) -> Round:
        return make_round(images=9, batch_size=3, replication=9, project=project)

    @pytest.fixture
    def ann(self, round: Round) -> User:
        return make_annotator(round, "ann")

    def test_the_page_of_work_says_how_long_a_batch_took_others_once_three_did_one(self, round: Round, ann: User):
        for name, hours in (("bob", 0.1), ("cem", 0.2)):
            worked(round, name, hours)
        before = seen_on(client_of(ann), "annotation:work-show")
        assert "A whole batch: 3 images Deadline: " in before
        assert "min (median" not in before
        worked(round, "dia", 5)
        assert "A whole batch: 3 images · about 12 min (median of other people) Deadline:" in seen_on(
            client_of(ann), "annotation:work-show"
        )

    def test_with_fewer_than_three_in_the_language_the_median_is_over_all_languages_of_the_project(
        self, project: Project, round: Round, ann: User
    ):
        japanese = make_round(images=9, batch_size=3, replication=9, project=project, language="ja")
        elsewhere = make_round(images=9, batch_size=3, replication=9)
        for name in ("eva", "fay", "gil"):
            worked(elsewhere, name, 9)
        bob = worked(round, "bob", 0.1)
        worked(japanese, "cem", 0.2)
        # Bob is one person, whatever he writes.
        LanguageSkill.objects.create(user=bob, language=japanese.language, level=LanguageLevel.NATIVE)
        submit_captions(japanese, bob)
        assert "min (median" not in seen_on(client_of(ann), "annotation:work-show")
        worked(japanese, "dia", 5)
        said = "A whole batch: 3 images · about 12 min (median of other people, all languages) Deadline:"
        assert said in seen_on(client_of(ann), "annotation:work-show")

    @pytest.mark.parametrize("why", ["paused", "failed practice"])
    def test_who_cannot_take_one_does_not_read_what_a_batch_would_be(
        self, project: Project, round: Round, ann: User, why: str
    ):
        rates(project, all_="12 EUR")
        if why == "paused":
            about = {"project": project, "language": round.language, "person": ann, "by": project.created_by}
            AnnotatorStatus.objects.create(state=AnnotatorState.PAUSED, at=NOW, **about)
        else:
            make_practice(project)
            fails(ann, project)
            fails(ann, project)
        seen = seen_on(client_of(ann), "annotation:work-show")
        assert "Before you can start:" in seen
        assert "A whole batch" not in seen

    def test_the_page_of_work_says_what_an_hour_is_paid_and_what_a_batch_is_worth(
        self, project: Project, round: Round, ann: User
    ):
        assert "Pay:" not in seen_on(client_of(ann), "annotation:work-show")
        rates(project, all_="12 EUR", de="10 GBP")
        assert "Pay: £10.00 an hour" in seen_on(client_of(ann), "annotation:work-show")
        for name in ("bob", "cem", "dia"):
            worked(round, name, 0.5)
        assert "Pay: about £5.00 (£10.00 an hour)" in seen_on(client_of(ann), "annotation:work-show")

    def test_who_came_from_a_panel_reads_what_the_study_pays_until_it_is_over(
        self, project: Project, round: Round, ann: User
    ):
        rates(project, all_="12 EUR")
        part = Participant.objects.create(study=make_study(project), user=ann, panel_id="5f1a", arrived_at=NOW)
        assert "Pay: £3.00 for the whole study" in seen_on(client_of(ann), "annotation:work-show")
        part.state, part.ended_at = ParticipantState.DONE, NOW
        part.save()
        assert "Pay:" not in seen_on(client_of(ann), "annotation:work-show")

    def test_after_a_batch_stand_ones_own_work_time_and_pay_and_everybodys_progress(
        self, project: Project, round: Round, ann: User
    ):
        rates(project, all_="12 EUR")
        submit_captions(round, ann)
        batch = submit_captions(round, ann)
        Tally.objects.update(rating_ms=1_800_000, writing_ms=3_600_000)
        seen = seen_on(client_of(ann), "annotation:batch-done", batch.pk)
        for said in ("far 6 images", "far 90 min", "far about €18.00", "German, everybody’s work: 6 of 81"):
            assert said in seen
        assert "Take the next batch" in seen

    def test_after_the_last_batch_no_other_one_is_offered(self, round: Round, ann: User):
        for _batch in range(3):
            batch = submit_captions(round, ann)
        seen = seen_on(client_of(ann), "annotation:batch-done", batch.pk)
        assert "No work right now." in seen
        assert "Take the next batch" not in seen

    def test_who_stops_reads_until_when_another_batch_is_kept(self, round: Round, ann: User):
        batch = submit_captions(round, ann)
        client = client_of(ann)
        assert "kept until" not in seen_on(client, "annotation:batch-done", batch.pk)
        take(round, ann, now=timezone.now() - timedelta(minutes=1))
        seen = seen_on(client, "annotation:batch-done", batch.pk)
        assert "Your other batch is kept until:" in seen
        assert "Take the next batch" not in seen


@pytest.fixture
def work_of_kind(request: pytest.FixtureRequest) -> tuple[User, str, str]:
    """Somebody with work of a kind ahead, its page, and what it is."""
    if request.param == "writing":
        round = make_round()
        return make_annotator(round), "annotation:work-show", "Rate the English captions of some images"
    if request.param == "rating":
        verified, _authors = verifying.make_captioned_round()
        reviewer = verifying.make_reviewer(verifying.make_verification(verified))
        return reviewer, "annotation:work-show", "Look at images with captions that other people wrote"
    return make_rater(make_comparison()), "sxs_eval:work-show", "Look at images with two captions each"


@pytest.mark.django_db
@pytest.mark.parametrize("work_of_kind", ["writing", "rating", "comparing"], indirect=True)
def test_who_has_yet_to_agree_reads_first_what_the_work_is(work_of_kind: tuple[User, str, str]):
    person, page, what = work_of_kind
    Consent.objects.all().delete()
    seen = seen_on(client_of(person), page)
    places = [seen.index(part) for part in (what, "A whole batch: ", "Deadline: ", "Before you can ", "Read and agree")]
    assert places == sorted(places)
    assert "Take " not in seen


@pytest.mark.django_db
def test_who_rates_captions_learns_the_same_of_captions():
    verified, _authors = verifying.make_captioned_round(images=4, captions=1)
    verification = verifying.make_verification(verified, batch_size=2, places=5)
    rae = verifying.make_reviewer(verification, "rae")
    for _person in range(MIN_PEOPLE):
        verifying.rate_all(verification, verifying.make_reviewer(verification))
    Tally.objects.filter(round=verification).update(rating_ms=240_000)
    rates(verified.project, all_="12 EUR")
    client = client_of(rae)
    assert "A whole batch: 2 captions · about 2 min (median of other people) Deadline: " in seen_on(
        client, "annotation:work-show"
    )
    batch = verifying.take(verification, rae)
    assert batch is not None
    verifying.rate(batch, rae)
    verifying.submit(batch, rae)
    Tally.objects.filter(person=rae).update(rating_ms=600_000)
    seen = seen_on(client, "annotation:verification-done", batch.pk)
    for said in (
        "far 2 captions",
        "far 10 min",
        "far about €2.00",
        "everybody’s work: 14 of 20",
        "Take the next batch",
    ):
        assert said in seen


@pytest.mark.django_db
def test_who_compares_captions_learns_the_same_of_pairs():
    comparison = make_comparison(images=6, batch_size=3, replication=5, repeat_percent=50)
    rater = make_rater(comparison)
    for _person in range(MIN_PEOPLE):
        judge_batch(comparison, make_rater(comparison), active_ms=30_000)
    rates(comparison.project, all_="12 EUR")
    client = client_of(rater)
    said = "A whole batch: 4 pairs · about 2 min (median of other people) Deadline: "
    assert said in seen_on(client, "sxs_eval:work-show")
    batch = judge_batch(comparison, rater, active_ms=90_000)
    seen = seen_on(client, "sxs_eval:batch-show", batch.pk)
    for said in ("All judged. Thank you!", "Your pay so far about ", "everybody’s work: ", "Take the next batch"):
        assert said in seen


def judge_batch(comparison: Comparison, rater: User, *, active_ms: int) -> JudgingBatch:
    batch = judged.take(comparison, rater, now=timezone.now())
    for row in batch.judgements.select_related("person").order_by("position"):
        judged.answer(row, 1, now=timezone.now())
    batch.judgements.update(active_ms=active_ms)
    return batch
