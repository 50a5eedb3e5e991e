"""What the background computes of a round, and when it does."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from typing import Any

import pytest

from annotation import tasks
from annotation.models import Caption, CaptionItem, CaptionState, Rating, Round, RoundFigures, RoundKind, Tally
from annotation.rules.estimates import pace
from annotation.rules.tallies import TallySums, total_sums
from annotation.selectors.figures import SUMS, computed_figures, recent_sums, sums_of_rounds, tallies_of
from annotation.services import batches as services
from annotation.services import figures, tallies
from annotation.services.projects import RoundSettings, change_round
from tests.annotation.submitting import make_captions, submit_captions, take
from tests.annotation.verifying import make_reviewer, make_verification, rate
from tests.annotation.verifying import take as take_to_rate
from tests.factories import NOW, make_annotator, make_round
from tests.kept import kept

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)


@kept
def round() -> Round:
    return make_round(images=4, replication=2, batch_size=4)


@pytest.fixture
def computed(round) -> Round:
    figures.compute(round_id=round.pk, now=NOW)
    return round


def replicate_once(round: Round) -> None:
    settings = RoundSettings(replication=1, batch_size=4, lease_s=60, is_open=True)
    change_round(round=round, settings=settings, by=round.project.created_by, now=NOW)


def of(round: Round) -> dict[str, Any]:
    figures.compute(round_id=round.pk, now=NOW)
    return RoundFigures.objects.get(round=round).figures


class TestWhenTheyAreComputed:
    def test_a_round_that_never_was_is_to_be(self, round):
        assert figures.stale_rounds(now=NOW) == [round.pk]

    def test_one_that_did_not_change_is_left_alone(self, computed):
        assert figures.stale_rounds(now=LATER) == []

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_one_in_which_somebody_submitted_is_computed_again_after_a_rest(self, computed):
        submit_captions(computed, make_annotator(computed))
        assert figures.stale_rounds(now=LATER) == [computed.pk]
        assert figures.stale_rounds(now=NOW + timedelta(seconds=10)) == []

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_so_is_one_that_was_recounted_or_marked(self, computed):
        ann = make_annotator(computed)
        submit_captions(computed, ann)
        for change in (
            lambda: tallies.recount(round=computed, person=ann),
            lambda: tallies.figures_changed(round_id=computed.pk),
        ):
            figures.compute(round_id=computed.pk, now=NOW)
            assert figures.stale_rounds(now=LATER) == []
            change()
            assert figures.stale_rounds(now=LATER) == [computed.pk]

    def test_one_whose_worker_died_half_way_is_begun_anew(self, computed, monkeypatch):
        def die(round):
            raise KeyboardInterrupt

        monkeypatch.setattr(figures, "_figures", die)
        with pytest.raises(KeyboardInterrupt):
            figures.compute(round_id=computed.pk, now=NOW)
        assert figures.stale_rounds(now=LATER) == [computed.pk]

    def test_one_that_cannot_be_computed_stops_no_other_and_comes_after_them(self, computed, monkeypatch, caplog):
        submit_captions(computed, make_annotator(computed))
        other = make_round(images=2, project=computed.project, kind=RoundKind.PILOT)

        def fail(round):
            raise ZeroDivisionError

        monkeypatch.setattr(figures, "_figures", fail)
        figures.compute(round_id=computed.pk, now=LATER)
        assert f"The figures of round {computed.pk} could not be computed" in caplog.text
        assert figures.stale_rounds(now=LATER) == [other.pk]
        assert figures.stale_rounds(now=LATER + figures.PAUSE_BETWEEN_FIGURES) == [other.pk, computed.pk]

    def test_one_that_is_being_computed_is_computed_by_nobody_else(self, computed, monkeypatch):
        submit_captions(computed, make_annotator(computed))
        other = make_round(images=2, project=computed.project, kind=RoundKind.PILOT)
        read, begun = figures._figures, []

        def sweep_meanwhile(round):
            begun.append(round.pk)
            assert figures.stale_rounds(now=LATER + figures.PAUSE_BETWEEN_FIGURES) == []
            figures.compute(round_id=computed.pk, now=LATER + figures.PAUSE_BETWEEN_FIGURES)
            return read(round)

        monkeypatch.setattr(figures, "_figures", sweep_meanwhile)
        figures.compute(round_id=computed.pk, now=LATER)
        assert begun == [computed.pk]
        assert figures.stale_rounds(now=LATER + figures.PAUSE_BETWEEN_FIGURES) == [other.pk]

    def test_a_sweep_ends_where_another_one_is_at_it(self, computed, monkeypatch):
        for _ in range(2):
            make_round(images=2, project=computed.project, number=Round.objects.count() + 1)
        read, begun = figures._figures, []

        def sweep_meanwhile(round):
            begun.append(round.pk)
            tasks.sweep_figures()
            return read(round)

        monkeypatch.setattr(figures, "_figures", sweep_meanwhile)
        tasks.sweep_figures()
        assert len(begun) == len(set(begun)) == 2

    def test_a_sweep_tries_a_round_once_however_long_it_takes_to_fail(self, computed, monkeypatch):
        submit_captions(computed, make_annotator(computed))
        clock, begun = [NOW + timedelta(hours=3)], []
        monkeypatch.setattr("annotation.tasks.timezone.now", lambda: clock[0])

        def fail_slowly(round):
            begun.append(round.pk)
            clock[0] += 2 * figures.PAUSE_BETWEEN_FIGURES
            raise ZeroDivisionError

        monkeypatch.setattr(figures, "_figures", fail_slowly)
        tasks.sweep_figures()
        assert begun == [computed.pk]
        assert figures.stale_rounds(now=clock[0]) == [computed.pk]

    def test_what_comes_in_while_it_is_computed_is_not_forgotten(self, computed, monkeypatch):
        read, ann = figures._figures, make_annotator(computed)

        def submit_meanwhile(round):
            figures = read(round)
            submit_captions(computed, ann)
            return figures

        monkeypatch.setattr(figures, "_figures", submit_meanwhile)
        figures.compute(round_id=computed.pk, now=NOW)
        assert figures.stale_rounds(now=LATER) == [computed.pk]


class TestPlaces:
    def test_a_place_that_goes_with_who_left_it_is_noted(self, round):
        first, second = make_annotator(round), make_annotator(round)
        for person in (first, second):
            batch = take(round, person)
        replicate_once(round)
        assert RoundFigures.objects.get(round=round).wanted == 8
        services.return_batch(batch_id=batch.pk, person=second, now=NOW)

        figures.compute(round_id=round.pk, now=NOW)
        assert RoundFigures.objects.get(round=round).wanted == 4

    def test_a_round_with_places_above_its_replication_is_looked_at_when_somebody_leaves_one(self, computed):
        people = [make_annotator(computed) for _ in range(2)]
        held = [take(computed, person) for person in people]
        replicate_once(computed)
        assert figures.stale_rounds(now=LATER) == []
        services.return_batch(batch_id=held[0].pk, person=people[0], now=LATER)
        soon = LATER + figures.PAUSE_BETWEEN_FIGURES
        assert figures.stale_rounds(now=soon) == [computed.pk]
        figures.compute(round_id=computed.pk, now=soon + figures.PAUSE_BETWEEN_FIGURES)
        assert figures.stale_rounds(now=soon + 3 * figures.PAUSE_BETWEEN_FIGURES) == []

    def test_a_sample_of_which_a_caption_ceased_to_count_is_computed_once(self, round):
        submit_captions(round, make_annotator(round))
        rating = make_verification(round)
        rater = make_reviewer(rating)
        rate(take_to_rate(rating, rater), rater)
        Caption.objects.filter(pk=Caption.objects.earliest("pk").pk).update(state=CaptionState.EXCLUDED)
        tallies.figures_changed(round_id=rating.pk)
        assert rating.pk in figures.stale_rounds(now=LATER)
        for each in (round, rating):
            figures.compute(round_id=each.pk, now=LATER)
        kept = RoundFigures.objects.get(round=rating)
        assert kept.wanted < kept.tasks * rating.replication
        assert figures.stale_rounds(now=LATER + timedelta(hours=1)) == []


class TestAgreement:
    @pytest.fixture
    def people(self, round):
        """Two who wrote about the same four images; of the ratings, three are the same and one a level apart."""
        people = make_captions(round, {task.image_id: ["Ein Bild", "Noch eines"] for task in round.tasks.all()})
        levels = [Rating.BAD, Rating.GOOD, Rating.GOOD, Rating.EXCELLENT]
        for person in people:
            for item, level in zip(CaptionItem.objects.filter(person=person).order_by("image"), levels, strict=True):
                CaptionItem.objects.filter(pk=item.pk).update(rating=level)
        odd = CaptionItem.objects.filter(person=people[1]).order_by("image").last()
        CaptionItem.objects.filter(pk=odd.pk).update(rating=Rating.GOOD)
        return people

    def test_it_is_of_those_who_rated_the_same_caption_of_what_counts_and_of_each_annotator(self, round, people):
        agreement = of(round)["agreement"]
        assert (agreement["things"], agreement["pairs"], agreement["same"]) == (4, 4, 3)
        assert 0.5 < agreement["alpha"] < 1
        agreement = of(round)["agreement_of"]
        assert {int(pk): (one["pairs"], one["same"]) for pk, one in agreement.items()} == {p.pk: (4, 3) for p in people}
        Caption.objects.filter(author=people[1]).update(state=CaptionState.EXCLUDED)
        assert of(round)["agreement"]["pairs"] == 0

    def test_where_nobody_shares_a_caption_it_says_why_there_is_none(self, round):
        make_captions(round, {round.tasks.first().image_id: ["Ein Bild"]})
        agreement = of(round)["agreement"]
        assert (agreement["alpha"], agreement["why"]) == (None, "no_pair_of_ratings")


class TestStatistics:
    def test_images_are_counted_over_all_main_rounds_of_the_language(self, round):
        first, second = (task.image_id for task in round.tasks.order_by("pk")[:2])
        make_captions(round, {first: ["eins zwei", "drei"]})
        more = make_round(
            project=round.project, collection=round.collection, number=2, captioners=round.captioners.all()
        )
        make_captions(more, {first: ["noch eins"], second: ["vier"]})
        statistics = of(round)["statistics"]
        assert (statistics["captions"], statistics["images_with_1"], statistics["images_with_3_or_more"]) == (4, 1, 1)
        assert of(more)["statistics"] == statistics

    def test_a_pilot_has_none(self):
        assert "statistics" not in of(make_round(kind=RoundKind.PILOT))


class TestRecentSums:
    """What the database adds up is what adding up all tallies here gives."""

    @pytest.mark.parametrize("by", [("round",), ("person", "round__language")])
    def test_they_are_those_of_all_tallies(self, round, by):
        today = date(2026, 3, 9)
        days = [{"2026-03-09": 3, "2026-03-03": 2, "2026-03-02": 4}, {"2026-03-09": 1, "2025-12-31": 1}, {}]
        warned: list[dict[str, int]] = [{"short": 2, "copied": 1}, {"script": 3, "short": 1, "repeated": 1}, {}]
        person = make_annotator(round)
        more = make_round(project=round.project, collection=round.collection, number=2, kind=RoundKind.PILOT)
        whose = [(round, person), (round, make_annotator(round)), (more, person)]
        for number, (where, who) in enumerate(whose):
            Tally.objects.create(
                round=where,
                person=who,
                captions=sum(days[number].values()),
                late=number,
                rating_ms=10 * number,
                writing_ms=7,
                warnings=warned[number],
                days=days[number],
                last_at=NOW + timedelta(hours=number) if number else None,
            )
        fields = ("captions", "late", "rating_ms", "writing_ms", "last_at", "overridden", "minutes_per_caption")
        shown = dict(recent_sums(Tally.objects.all(), by=by, today=today))
        expected: dict[tuple[Any, ...], list[TallySums]] = defaultdict(list)
        for (pk, person_id), sums in tallies_of(Round.objects.all()):
            expected[(pk,) if by == ("round",) else (person_id, round.language_id)].append(sums)
        assert set(shown) == set(expected)
        for key, each in expected.items():
            whole = total_sums(each)
            assert [getattr(shown[key], name) for name in fields] == [getattr(whole, name) for name in fields]
            assert shown[key].warnings == whole.warnings
            of_all = pace(whole.days, total=whole.captions, today=today)
            assert pace(shown[key].days, total=whole.captions, today=today) == of_all
            assert shown[key].days == {day: n for day, n in whole.days.items() if day > "2026-03-02"}


class TestSumsOfRounds:
    """What pages show of a round is what all tallies add up to, whatever was submitted since it was computed."""

    def sums(self, round: Round) -> TallySums:
        rounds = Round.objects.filter(pk=round.pk)
        shown = sums_of_rounds(rounds, computed_figures(round.project))
        assert shown.get(round.pk, TallySums()) == total_sums(sums for _, sums in tallies_of(rounds))
        return shown.get(round.pk, TallySums())

    def test_they_are_right_before_the_first_computation_and_after_each_change(self, round):
        assert self.sums(round) == TallySums()
        submit_captions(round, make_annotator(round))
        assert self.sums(round).captions == 4
        figures.compute(round_id=round.pk, now=NOW)
        assert self.sums(round).captions == 4
        submit_captions(round, make_annotator(round))
        assert self.sums(round).captions == 8
        figures.compute(round_id=round.pk, now=LATER)
        assert self.sums(round).captions == 8

    def test_tallies_are_read_only_for_rounds_that_changed(self, round, django_assert_num_queries):
        submit_captions(round, make_annotator(round))
        figures.compute(round_id=round.pk, now=NOW)
        kept = computed_figures(round.project)
        with django_assert_num_queries(1):
            assert sums_of_rounds(Round.objects.all(), kept)[round.pk].captions == 4
        submit_captions(round, make_annotator(round))
        with django_assert_num_queries(2):
            assert sums_of_rounds(Round.objects.all(), kept)[round.pk].captions == 8

    def test_figures_of_an_earlier_version_have_none(self, round):
        submit_captions(round, make_annotator(round))
        figures.compute(round_id=round.pk, now=NOW)
        kept = RoundFigures.objects.get(round=round)
        del kept.figures[SUMS]
        kept.save()
        assert self.sums(round).captions == 4
