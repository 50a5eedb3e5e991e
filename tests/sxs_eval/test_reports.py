"""Pages of results: what stands on them, what it is made of, and who may read it."""

from __future__ import annotations

import math
import re
from functools import partial
from random import Random

import pytest
from django.urls import reverse

from annotation.services import batches as annotating
from core.images.models import Image
from core.people.models import LanguageLevel, LanguageSkill
from core.people.rules.pseudonyms import pseudonym
from crosslens_metrics.reports.comparison_figures import GainFigure, UndefinedComparison
from research.inference.models import ModelCaption
from sxs_eval.models import Comparison, EqualCaptions, Judgement, RaterState, RaterStatus, TrialKind
from sxs_eval.selectors.evidence import evidence_of
from sxs_eval.selectors.results import rater_rows
from sxs_eval.services.quality import restore_rater
from tests.clients import client_of
from tests.exported import export_address
from tests.factories import (
    NOW,
    join_project,
    make_captioner,
    make_collection,
    make_comparison,
    make_rater,
    make_round,
)
from tests.queries import queries_of
from tests.sxs_eval.judged import answer, judge_all, keys_of, report, take, text_of

pytestmark = pytest.mark.django_db
PAGES = ("comparison-show", "comparison-progress", "pair-list", "results-show", "tables-export")


def address(name: str, comparison: Comparison) -> str:
    slug = comparison.project.slug
    more = {"results-show": [], "tables-export": ["csv"]}.get(name, [comparison.pk])
    return reverse(f"sxs_eval:{name}", args=[slug, *more])


@pytest.fixture
def comparison(made_once) -> Comparison:
    return made_once(make_judged)


def make_judged() -> Comparison:
    """Five images: two wins, one loss, one without a majority, one that only two have judged."""
    made = make_comparison(images=5, batch_size=10)
    return judge_as(made, [[3, 1, -2, 0, 2], [2, 1, -1, 1, 2], [-1, 0, -3, -2, None]])


def judge_as(comparison: Comparison, answers: list[list[int | None]]) -> Comparison:
    """Each line a rater's scores, image after image; None is not judged."""
    keys = keys_of(comparison)
    for number, scores in enumerate(answers):
        rater = make_rater(comparison, f"rater-{comparison.pk}-{number}")
        wanted = {key: score for key, score in zip(keys, scores, strict=True) if score is not None}
        judge_all(comparison, rater, wanted, seed=number)
    return comparison


def page_of(comparison: Comparison) -> str:
    return text_of(client_of(comparison.project.created_by).get(address("comparison-show", comparison)))


@pytest.fixture
def reader(client, comparison):
    client.force_login(comparison.project.created_by)
    return client


class TestFigures:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_they_are_those_that_a_hand_computes(self, comparison):
        outcome = report(comparison).outcome
        assert (outcome.images.complete, outcome.images.incomplete) == (4, 1)
        assert outcome.images.incomplete_by_judgements == {0: 0, 1: 0, 2: 1}
        # Of four images two are won, one is lost, one has one voice for each of three answers.
        assert (outcome.wins.count, outcome.losses.count, outcome.neither.count) == (2, 1, 1)
        assert isinstance(outcome.gain, GainFigure)
        assert outcome.gain.points == 25.0
        # One loss or fewer, or two or more, of three fair coins: certain.
        assert outcome.sign_test.p == 1.0
        assert outcome.sign_test.decided == 3

    def test_the_page_says_them_and_counts_every_judgement_at_its_level(self, reader, comparison):
        text = page_of(comparison)
        assert "WINS 50.0% (2 of 4)" in text
        assert "LOSSES 25.0% (1 of 4)" in text
        assert "ΔSxS +25.0" in text
        assert "Sign test p = 1.0000" in text
        assert "The figures are based on 4 images that have all their judgements." in text
        assert "1 image lacks judgements and is not part of any percentage (0 without any)." in text
        assert "14 judgements count" in text
        assert "Pairs with equal captions are shown to raters like any other." in text
        levels = {
            "MUCH-BETTER": 1, "BETTER": 3, "SLIGHTLY-BETTER": 3, "SIMILAR": 2, "SLIGHTLY-WORSE": 2, "WORSE": 2,
            "MUCH-WORSE": 1,
        }  # fmt: skip
        table = text.split("As a table")[1]
        for level, count in levels.items():
            assert re.search(rf"(?<![A-Z-]){level} {count}\b", table), level

    def test_each_figure_says_what_it_is_of(self, reader, comparison):
        Judgement.objects.filter(pk=comparison.judgements.earliest("pk").pk).update(active_ms=0)
        text = page_of(comparison)
        assert re.search(r"Agreement α = \S+ \(5 images\)", text)
        assert "Seconds per judgement 4.0 (13 of 14)" in text
        # The variance of the outcome is 3/4 − (1/4)² = 0.6875.
        needed = math.ceil((2 * 1.959964 * 100 / 10) ** 2 * 0.6875)
        assert f"Images for ± 5 points {needed}, {needed - 4} more than now" in text
        to_see = math.ceil((1.959964 + 0.841621) ** 2 * 0.6875 / 0.25**2)
        assert f"Images needed {to_see}" in text
        assert "Images needed with other raters none: more raters are needed" in text
        assert re.search(r"(\d+\.\d%) \(\d+ of \d+\) \d+\.\d to \d+\.\d", text.split("Median seconds")[1])

    def test_times_are_the_active_ones_and_figures_the_same_each_time(self, comparison):
        assert report(comparison).seconds.median == 4.0
        assert report(comparison).as_json() == report(comparison).as_json()

    def test_times_that_were_not_measured_are_unknown(self):
        comparison = make_comparison(images=1)
        row = take(comparison, make_rater(comparison)).judgements.select_related("person").get()
        answer(row, 1, active_ms=0)
        assert isinstance(report(comparison).seconds, UndefinedComparison)

    def test_the_gain_of_a_region_is_over_its_images_alone(self, reader, comparison):
        images = [entry.image for entry in comparison.collection.entries.order_by("position")]
        for image, region in zip(images, ["Africa", "Africa", "Asia", "Asia", " Asia "], strict=True):
            Image.objects.filter(pk=image.pk).update(extra={"region": region})
        regions = {part.region: part.outcome for part in report(comparison).regions}
        assert set(regions) == {"Africa", "Asia"}
        assert regions["Africa"].gain.points == 100.0
        assert regions["Asia"].gain.points == -50.0
        assert (regions["Asia"].images.complete, regions["Asia"].images.incomplete) == (2, 1)
        text = page_of(comparison)
        assert "Asia 2 1 0.0% (0) 50.0% (1) −50.0" in text
        assert "Africa 2 0 100.0% (2) 0.0% (0) +100.0" in text

    def test_a_region_that_is_a_number_is_taken_by_its_name(self, comparison):
        Image.objects.update(extra={"region": 12})
        assert [part.region for part in report(comparison).regions] == ["12"]

    def test_equal_captions_that_are_not_shown_are_in_the_denominator(self, client):
        collection = make_collection(4)
        base, test = (make_captioner(collection, language="de") for _ in range(2))
        same = list(collection.entries.order_by("position").values_list("image", flat=True))[:2]
        ModelCaption.objects.exclude(image__in=same).filter(model=test).update(text="other words")
        comparison = make_comparison(
            collection=collection, base=base, test=test, equal_captions=EqualCaptions.SIMILAR, replication=1
        )
        keys = keys_of(comparison)
        judge_all(comparison, make_rater(comparison), {keys[2]: 2, keys[3]: 2})
        outcome = report(comparison).outcome
        assert (outcome.images.denominator, outcome.images.counted_similar) == (4, 2)
        assert outcome.gain.points == 50.0
        text = page_of(comparison)
        assert "2 pairs with equal captions count as SIMILAR without being shown." in text
        assert "is biased towards zero" not in text
        Judgement.objects.filter(pair__image__entries__key=keys[3]).update(is_late=True)
        assert "is biased towards zero" in page_of(comparison)
        assert "Pairs with equal captions count as SIMILAR without being shown, as set for this comparison." in text
        client.force_login(comparison.project.created_by)
        assert "equal, counted as SIMILAR" in text_of(client.get(address("pair-list", comparison)))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_comparison_on_five_points_has_five_in_its_plot(self, client):
        comparison = make_comparison(images=1, replication=1, scale=5)
        judge_all(comparison, make_rater(comparison), {keys_of(comparison)[0]: 2})
        text = page_of(comparison)
        assert "SLIGHTLY" not in text
        assert "5 points" in text

    def test_the_seed_is_the_comparison_s_and_stands_below(self, reader, comparison):
        Comparison.objects.update(seed=4711)
        text = page_of(comparison)
        assert "|bootstrap:10000/4711" in text
        assert "for the downloaded file with --seed 4711 --replication 3," in text


class TestWhatDoesNotCount:
    @pytest.fixture
    def rater(self, comparison):
        return comparison.judgements.earliest("pk").person

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize(("state", "paused", "excluded"), [(RaterState.PAUSED, 5, 0), (RaterState.EXCLUDED, 0, 5)])
    def test_judgements_of_a_rater_who_is_paused_or_left_out_are_set_aside_and_told(
        self, comparison, rater, state, paused, excluded
    ):
        RaterStatus.objects.create(comparison=comparison, person=rater, state=state, paused_at=NOW)
        figures = report(comparison)
        assert (figures.judgements, figures.set_aside) == (9, 5)
        assert figures.outcome.images.complete == 0
        assert pseudonym(comparison.project, rater.pk) not in [row.rater for row in figures.raters]
        text = page_of(comparison)
        assert f"set aside: 0 late, {paused} by paused raters, {excluded} by excluded raters." in text
        assert f"{pseudonym(comparison.project, rater.pk)} {state.label.capitalize()} 0 5" in text

    def test_they_count_again_once_the_rater_goes_on(self, comparison, rater):
        before = report(comparison).as_json()
        RaterStatus.objects.create(comparison=comparison, person=rater, state=RaterState.PAUSED, paused_at=NOW)
        manager = comparison.project.created_by
        restore_rater(comparison=comparison, rater=rater, note="", by=manager, now=NOW)
        assert report(comparison).as_json() == before

    def test_late_judgements_are_set_aside(self, reader, comparison):
        last = comparison.judgements.filter(choice__isnull=False).latest("pk")
        comparison.judgements.filter(pk=last.pk).update(is_late=True)
        assert report(comparison).set_aside == 1
        text = page_of(comparison)
        assert "1 judgement is set aside: 1 late, 0 by paused raters, 0 by excluded raters." in text

    def test_gold_pairs_and_repeats_are_in_no_gain(self):
        comparison = make_comparison(
            images=12, replication=1, batch_size=20, gold_percent=50, repeat_percent=50, checks_before_pause=99
        )
        keys = keys_of(comparison)
        rater = make_rater(comparison)
        judge_all(comparison, rater, dict.fromkeys(keys, 2), gold=-3, again=2)
        figures = report(comparison)
        assert figures.judgements == figures.outcome.images.complete == 12
        assert figures.distribution[-3] == 0
        assert figures.flips.same.total > 0
        (row,) = rater_rows(comparison, figures, evidence_of([comparison])[comparison.pk])
        golds = Judgement.objects.filter(kind=TrialKind.GOLD).count()
        assert sum(row.failures) == golds > 0
        assert len(row.failures) == golds + figures.flips.same.total

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_repeat_of_a_late_judgement_is_in_no_flip(self):
        comparison = make_comparison(images=12, replication=1, batch_size=20, repeat_percent=50)
        judge_all(comparison, make_rater(comparison), dict.fromkeys(keys_of(comparison), 2))
        assert report(comparison).flips.same.total > 1
        comparison.judgements.filter(repeat__isnull=False).update(is_late=True)
        assert isinstance(report(comparison).flips.same, UndefinedComparison)


def test_the_appendix_says_who_judged_what_until_when_and_how_far_they_agreed():
    comparison = make_comparison(images=3, replication=2, gold_percent=10)
    for scores in ([3, 2, -1], [2, 1, 1]):
        judge_all(comparison, make_rater(comparison), dict(zip(keys_of(comparison), scores, strict=True)))
    appendix = page_of(comparison).split("For the appendix of a paper")[1]
    assert "2 raters gave 6 judgements on a scale of 7 points, 2 per image." in appendix
    assert "Attention was checked by gold pairs (10 per 100 pairs) and repeats (0)." in appendix
    assert "66.7% of the pairs of judgements of an image are on the same side." in appendix
    assert "generalises to other images, with these 2 raters" in appendix
    assert "Add the instructions that people were given." in appendix


class TestUndefined:
    def test_a_comparison_that_nobody_judged_says_why_there_is_nothing(self, client):
        comparison = make_comparison(images=2)
        text = page_of(comparison)
        assert "ΔSxS undefined No image has all its judgements yet." in text
        assert "Sign test undefined No image has all its judgements yet" in text
        assert "Agreement undefined No image was judged by two raters" in text
        assert "2 images lack judgements and are not part of any percentage (2 without any)." in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_where_all_images_are_alike_the_interval_says_how_little_two_images_are(self, client):
        comparison = make_comparison(images=2, replication=1)
        judge_all(comparison, make_rater(comparison), dict.fromkeys(keys_of(comparison), 3))
        text = page_of(comparison)
        # Clopper and Pearson's lower bound of 2 of 2 is √0.025.
        assert "ΔSxS +100.0 −68.4 to +100.0" in text
        assert "generalises to other images, with this rater (Clopper–Pearson, of images decided and wins" in text
        assert "ΔSxS with other raters undefined All judgements are by one rater" in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("images", [0, 1])
    def test_nan_stands_nowhere(self, client, images):
        comparison = make_comparison(images=1, replication=1)
        if images:
            judge_all(comparison, make_rater(comparison), {keys_of(comparison)[0]: 3})
        client.force_login(comparison.project.created_by)
        for name in PAGES:
            response = client.get(address(name, comparison))
            content = b"".join(response.streaming_content) if response.streaming else response.content
            assert not re.search(r"\b(nan|NaN|NAN|inf|Infinity|None)\b|Undefined\(", content.decode()), name


class TestPairs:
    def outcomes(self, client, comparison, show) -> list[str]:
        page = client.get(address("pair-list", comparison), {"show": show})
        return [outcome for _pair, outcome, _answers in page.context["pairs"]]

    def test_they_can_be_chosen_by_what_became_of_them(self, reader, comparison):
        assert self.outcomes(reader, comparison, "wins") == ["wins"] * 2
        assert self.outcomes(reader, comparison, "losses") == ["losses"]
        assert self.outcomes(reader, comparison, "incomplete") == ["incomplete"]
        assert len(self.outcomes(reader, comparison, "all")) == 5
        assert len(self.outcomes(reader, comparison, "nonsense")) == 5

    def test_the_largest_disagreement_comes_first(self, reader, comparison):
        page = reader.get(address("pair-list", comparison), {"show": "disagreement"})
        scores = [[said.score for said, *_about in answers] for _pair, _outcome, answers in page.context["pairs"]]
        spreads = [max(of_pair) - min(of_pair) for of_pair in scores]
        assert spreads == sorted(spreads, reverse=True)
        assert (spreads[0], spreads[-1]) == (4, 1)

    def test_captions_stand_under_the_names_of_their_models_with_what_was_said(self, reader, comparison):
        comparison.judgements.filter(choice__isnull=False).update(comment="")
        one = comparison.judgements.filter(choice__isnull=False).earliest("pk")
        comparison.judgements.filter(pk=one.pk).update(comment="<b>both</b> miss the dog")
        response = reader.get(address("pair-list", comparison), {"show": "comments"})
        text = text_of(response)
        assert f"Base: {comparison.base.name} base caption of" in text
        assert f"Test: {comparison.test.name} test caption of" in text
        assert "<b>both</b> miss the dog" in text
        assert "<b>both" not in response.content.decode()
        assert one.person.username not in text
        assert pseudonym(comparison.project, one.person_id) in text

    def test_what_does_not_count_is_shown_as_such_and_decides_nothing(self, reader, comparison):
        rater = comparison.judgements.earliest("pk").person
        RaterStatus.objects.create(comparison=comparison, person=rater, state=RaterState.EXCLUDED)
        assert self.outcomes(reader, comparison, "wins") == []
        assert "rater excluded, does not count" in text_of(reader.get(address("pair-list", comparison)))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_page_has_ten_of_them(self, client):
        comparison = make_comparison(images=12)
        client.force_login(comparison.project.created_by)
        assert len(self.outcomes(client, comparison, "all")) == 10
        second = client.get(address("pair-list", comparison), {"page": "2"})
        assert len(second.context["pairs"]) == 2
        assert client.get(address("pair-list", comparison), {"page": "x"}).status_code == 200

    def test_who_is_writing_about_an_image_of_it_is_refused(self, reader, comparison):
        places = (address("pair-list", comparison), export_address(comparison.project.slug, "judgements"))
        assert [reader.get(place).status_code for place in places] == [200, 200]
        elsewhere = make_round(collection=comparison.collection, images=5)
        manager = comparison.project.created_by
        manager.reads_english = True
        manager.save()
        make_annotator_of(elsewhere, manager)
        annotating.take_batch(round=elsewhere, person=manager, now=NOW, rng=Random(1))
        for place, said in zip(
            places, ("You have a batch with images", "a batch that is assigned to you"), strict=True
        ):
            response = reader.get(place, follow=True)
            assert said in text_of(response)
            assert "base caption" not in response.content.decode()
        assert reader.get(address("comparison-show", comparison)).status_code == 200


class TestCost:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_queries_do_not_grow_with_pairs_or_judgements(self, client):
        names = ("comparison-show", "results-show", "pair-list", "tables-export")
        counts = []
        for images in (2, 6):
            comparison = make_comparison(images=images, replication=2, batch_size=20)
            for number in (1, 2):
                rater = make_rater(comparison)
                judge_all(comparison, rater, dict.fromkeys(keys_of(comparison), number))
            client.force_login(comparison.project.created_by)
            for name in names:
                client.get(address(name, comparison))
                counts.append(len(queries_of(partial(client.get, address(name, comparison)))))
        assert counts[:4] == counts[4:]
        assert max(counts) <= 27

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_results_take_the_same_queries_for_more_comparisons(self, client):
        comparison = make_comparison()
        client.force_login(comparison.project.created_by)
        counts = []
        for _ in range(2):
            client.get(address("results-show", comparison))
            counts.append(len(queries_of(lambda: client.get(address("results-show", comparison)))))
            make_comparison(project=comparison.project)
        assert counts[0] == counts[1]


class TestProgress:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_asks_for_itself_again(self, reader, comparison):
        page = reader.get(address("comparison-show", comparison)).content.decode()
        assert f'hx-get="{address("comparison-progress", comparison)}"' in page
        part = reader.get(address("comparison-progress", comparison))
        assert "14 of 15 judgements" in text_of(part)
        assert "<html" not in part.content.decode()

    def test_a_paused_rater_is_told_of(self, reader, comparison):
        rater = comparison.judgements.earliest("pk").person
        RaterStatus.objects.create(comparison=comparison, person=rater, state=RaterState.PAUSED, paused_at=NOW)
        assert "1 rater failed too many attention items" in text_of(
            reader.get(address("comparison-progress", comparison))
        )


def make_annotator_of(round, person) -> None:
    LanguageSkill.objects.create(user=person, language=round.language, level=LanguageLevel.NATIVE)
    join_project(round.project, person)
