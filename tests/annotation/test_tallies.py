"""Tallies: after whatever happened, they say what counting would."""

from __future__ import annotations

from datetime import timedelta

import pytest

from annotation.models import (
    Caption,
    CaptionState,
    Item,
    Rating,
    Round,
    RoundFigures,
    Tally,
)
from annotation.services import batches as services
from annotation.services import tallies
from annotation.services.projects import RoundSettings, change_round
from tests.annotation.handing_in import hand_in, take, write
from tests.factories import MINUTE, NOW, make_annotator, make_round

pytestmark = pytest.mark.django_db
TEXT = "Ein Bild von etwas"


@pytest.fixture
def round() -> Round:
    return make_round(images=4, replication=2, batch_size=2)


@pytest.fixture
def ann(round):
    return make_annotator(round, "ann")


def late(round, person):
    batch = take(round, person)
    write(batch, person, TEXT)
    return services.submit_batch(batch_id=batch.pk, annotator=person, now=NOW + timedelta(days=3))


class TestHandingIn:
    def test_what_was_handed_in_is_in_the_tally_at_once(self, round, ann):
        hand_in(round, ann, TEXT)

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.batches, tally.captions, tally.late) == (1, 2, 0)
        assert (tally.words, tally.characters) == (2 * 5, 2 * len(f"{TEXT} 1"))
        assert tally.ratings == {Rating.GOOD: 2}
        assert tally.lengths == {"20": 2}
        assert tally.days == {"2026-03-02": 2}
        assert tally.last_at == NOW

    def test_times_and_overridden_warnings_are_summed(self, round, ann):
        batch = take(round, ann)
        write(batch, ann, "kurz")
        Item.objects.filter(batch=batch).update(rating_ms=3000, writing_ms=20_000)
        services.submit_batch(batch_id=batch.pk, annotator=ann, now=NOW)

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.rating_ms, tally.writing_ms) == (6000, 40_000)
        assert tally.warnings["short"] == 2

    def test_a_second_batch_is_added_to_the_first(self, round, ann):
        hand_in(round, ann, TEXT)
        hand_in(round, ann, TEXT, now=NOW + timedelta(days=1))

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.batches, tally.captions) == (2, 4)
        assert tally.days == {"2026-03-02": 2, "2026-03-03": 2}
        assert tally.last_at == NOW + timedelta(days=1)

    def test_what_came_late_is_counted_as_late_only(self, round, ann):
        late(round, ann)

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.batches, tally.captions, tally.late, tally.words) == (0, 0, 2, 0)
        assert tally.last_at == NOW + timedelta(days=3)

    def test_handing_in_twice_is_counted_once(self, round, ann):
        batch = hand_in(round, ann, TEXT)
        services.submit_batch(batch_id=batch.pk, annotator=ann, now=NOW + MINUTE)

        assert Tally.objects.get(round=round, person=ann).captions == 2


class TestRecounting:
    def test_captions_that_count_no_longer_leave_the_tally(self, round, ann):
        hand_in(round, ann, TEXT)
        Caption.objects.filter(pk=Caption.objects.earliest("pk").pk).update(state=CaptionState.EXCLUDED)
        tallies.recount(round=round, person=ann)

        tally = Tally.objects.get(round=round, person=ann)
        assert (tally.batches, tally.captions, tally.ratings) == (1, 1, {Rating.GOOD: 1})

    def test_it_says_what_was_wrong(self, round, ann):
        hand_in(round, ann, TEXT)
        Tally.objects.update(captions=7)

        (difference,) = tallies.recount_all(round.project)
        assert (difference.person, difference.column, difference.kept, difference.counted) == (ann, "captions", 7, 2)
        assert list(tallies.recount_all(round.project)) == []

    def test_a_tally_that_is_missing_is_made(self, round, ann):
        hand_in(round, ann, TEXT)
        Tally.objects.all().delete()
        assert {difference.column for difference in tallies.recount_all(round.project)} >= {"captions", "words"}
        assert Tally.objects.get(round=round, person=ann).captions == 2

    def test_another_project_is_left_alone(self, round, ann):
        hand_in(round, ann, TEXT)
        Tally.objects.update(captions=7)
        assert list(tallies.recount_all(make_round().project)) == []


class TestPlaces:
    def test_tasks_that_are_added_are_counted(self, round):
        figures = RoundFigures.objects.get(round=round)
        assert (figures.tasks, figures.wanted) == (4, 8)

    def test_another_replication_changes_what_is_wanted(self, round):
        change_round(
            round=round,
            settings=RoundSettings(replication=3, batch_size=2, hold_s=60, is_open=True),
            by=round.project.created_by,
            now=NOW,
        )
        assert RoundFigures.objects.get(round=round).wanted == 12
