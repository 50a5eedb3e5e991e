"""Tallies: after whatever happened, they say what counting would."""

from __future__ import annotations

from datetime import timedelta
from threading import Barrier

import pytest
from django.db import transaction

from annotation.models import Caption, CaptionItem, CaptionState, Rating, Round, RoundFigures, Tally
from annotation.rules.tallies import TallySums
from annotation.services import annotator_status, tallies
from annotation.services import batches as services
from annotation.services.projects import RoundSettings, change_round
from annotation.services.withdrawal import withdraw_answers
from tests.annotation import verifying
from tests.annotation.submitting import submit_captions, take, write
from tests.concurrency import together
from tests.factories import MINUTE, NOW, make_annotator, make_round

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
TEXT = "Ein Bild von etwas"


@pytest.fixture
def round() -> Round:
    return make_round(images=4, replication=2, batch_size=2)


def late(round, person):
    batch = take(round, person)
    write(batch, person, TEXT)
    return services.submit_batch(batch_id=batch.pk, person=person, now=NOW + timedelta(days=3))


class TestHandingIn:
    def test_what_was_submitted_is_in_the_tally_at_once_and_a_second_batch_is_added_to_the_first(self, round, ann):
        submit_captions(round, ann, TEXT)

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.batches, tally.captions, tally.late) == (1, 2, 0)
        assert (tally.words, tally.characters) == (2 * 5, 2 * len(f"{TEXT} 1"))
        assert tally.ratings == {Rating.GOOD: 2}
        assert tally.lengths == {"20": 2}
        assert tally.days == {"2026-03-02": 2}
        assert tally.last_at == NOW
        submit_captions(round, ann, TEXT, now=NOW + timedelta(days=1))

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.batches, tally.captions) == (2, 4)
        assert tally.days == {"2026-03-02": 2, "2026-03-03": 2}
        assert tally.last_at == NOW + timedelta(days=1)

    def test_times_and_overridden_warnings_are_summed(self, round, ann):
        batch = take(round, ann)
        write(batch, ann, "kurz")
        CaptionItem.objects.filter(batch=batch).update(rating_ms=3000, writing_ms=20_000)
        services.submit_batch(batch_id=batch.pk, person=ann, now=NOW)

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.rating_ms, tally.writing_ms) == (6000, 40_000)
        assert tally.warnings["short"] == 2

    def test_what_came_late_is_counted_as_late_only(self, round, ann):
        late(round, ann)

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.batches, tally.captions, tally.late, tally.words) == (0, 0, 2, 0)
        assert tally.last_at == NOW + timedelta(days=3)

    def test_submitting_twice_is_counted_once(self, round, ann):
        batch = submit_captions(round, ann, TEXT)
        services.submit_batch(batch_id=batch.pk, person=ann, now=NOW + MINUTE)

        assert Tally.objects.get(round=round, person=ann).captions == 2


class TestRecounting:
    def test_captions_that_count_no_longer_leave_the_tally(self, round, ann):
        submit_captions(round, ann, TEXT)
        Caption.objects.filter(pk=Caption.objects.earliest("pk").pk).update(state=CaptionState.EXCLUDED)
        tallies.recount(round=round, person=ann)

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.batches, tally.captions, tally.ratings) == (1, 1, {Rating.GOOD: 1})

    def test_it_says_what_was_wrong_makes_what_is_missing_and_leaves_another_project_alone(self, round, ann):
        submit_captions(round, ann, TEXT)
        Tally.objects.update(captions=7)
        assert list(tallies.recount_all(make_round().project)) == []
        (difference,) = tallies.recount_all(round.project)
        assert (difference.person, difference.column, difference.kept, difference.counted) == (ann, "captions", 7, 2)
        assert list(tallies.recount_all(round.project)) == []
        Tally.objects.all().delete()
        assert {difference.column for difference in tallies.recount_all(round.project)} >= {"captions", "words"}
        assert Tally.objects.get(round=round, person=ann).captions == 2


class TestPlaces:
    def test_tasks_that_are_added_are_counted_and_another_replication_changes_what_is_wanted(self, round):
        figures = RoundFigures.objects.get(round=round)
        assert (figures.tasks, figures.wanted) == (4, 8)
        change_round(
            round=round,
            settings=RoundSettings(replication=3, batch_size=2, lease_s=60, is_open=True),
            by=round.project.created_by,
            now=NOW,
        )
        assert RoundFigures.objects.get(round=round).wanted == 12


class TestWithdrawing:
    def test_what_withdraws_with_its_author_leaves_the_tally(self, round, ann):
        submit_captions(round, ann, TEXT)
        withdraw_answers(project=round.project, person=ann, keeps_answers=False, now=NOW)
        assert Tally.objects.get(person=ann).captions == 0
        assert list(tallies.recount_all(round.project)) == []


class TestVerdicts:
    @pytest.fixture
    def rating(self, round):
        submit_captions(round, make_annotator(round), TEXT)
        return verifying.make_verification(round)

    def test_captions_that_were_rated_are_in_the_tally_of_the_rater(self, rating):
        rater = verifying.make_reviewer(rating)
        verifying.rate_all(rating, rater, Rating.MEDIUM)

        tally = Tally.objects.get(round=rating, person=rater)
        assert (tally.batches, tally.captions, tally.words) == (1, 2, 0)
        assert (tally.ratings, tally.days) == ({Rating.MEDIUM: 2}, {"2026-03-02": 2})
        assert list(tallies.recount_all(rating.project)) == []

    def test_what_came_late_or_was_set_aside_is_not(self, rating):
        late, excluded = (verifying.make_reviewer(rating) for _ in range(2))
        batch = verifying.take(rating, late)
        verifying.rate(batch, late)
        verifying.submit(batch, late, now=NOW + timedelta(days=3))
        verifying.rate_all(rating, excluded)
        about = {"project": rating.project, "language": rating.language, "by": rating.project.created_by, "now": NOW}
        exclusion = annotator_status.exclude(person=excluded, reason="A test.", **about)

        counts = Tally.objects.filter(round=rating).values_list("person", "captions", "late")
        assert set(counts) == {(late.pk, 0, 2), (excluded.pk, 0, 0)}
        annotator_status.undo_exclusion(exclusion=exclusion, by=rating.project.created_by, now=NOW)
        assert Tally.objects.get(person=excluded).captions == 2
        assert list(tallies.recount_all(rating.project)) == []


class TestAtTheSameTime:
    @pytest.mark.django_db(transaction=True)
    def test_submitting_while_a_manager_recounts_is_counted_once(self):
        round = make_round(images=12, replication=1, batch_size=1)
        ann = make_annotator(round)
        for number in range(3):
            submit_captions(round, ann, TEXT, now=NOW + number * MINUTE)
        batch = take(round, ann, now=NOW)
        write(batch, ann, TEXT, now=NOW)

        def act(what: str) -> None:
            if what == "hand in":
                services.submit_batch(batch_id=batch.pk, person=ann, now=NOW)
            else:
                tallies.recount(round=round, person=ann)

        together(act, ["recount", "hand in", "recount", "recount"])

        assert Tally.objects.get(person=ann).captions == 4
        assert list(tallies.recount_all(round.project)) == []

    @pytest.mark.django_db(transaction=True)
    def test_without_the_lock_one_of_two_additions_is_lost(self, monkeypatch):
        """The control: read first, then written by both, as without a lock."""
        round = make_round(images=2, replication=1)
        ann = make_annotator(round)
        Tally.objects.create(round=round, person=ann)
        read = Barrier(2)

        def unlocked(round_id: int, person_id: int) -> Tally:
            tally = Tally.objects.get(round_id=round_id, person_id=person_id)
            read.wait(30)
            return tally

        monkeypatch.setattr(tallies, "_locked", unlocked)
        answers = TallySums(captions=1)
        together(lambda _: tallies._add(round.pk, ann.pk, answers), [1, 2])

        assert Tally.objects.get(person=ann).captions == 1

    @pytest.mark.django_db(transaction=True)
    def test_with_it_none_is(self):
        round = make_round(images=2, replication=1)
        ann = make_annotator(round)

        def add(_: int) -> None:
            with transaction.atomic():
                tallies._add(round.pk, ann.pk, TallySums(captions=1))

        together(add, range(6))

        assert Tally.objects.get(person=ann).captions == 6
