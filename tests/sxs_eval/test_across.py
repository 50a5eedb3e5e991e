"""Figures over several comparisons: one gain of them all, and the order of the models."""

from __future__ import annotations

import numpy as np
import pytest

from crosslens_metrics.gains import DecidedImages
from crosslens_metrics.majorities import moved_outcomes
from crosslens_metrics.ranking import RankingOutcomes, StrengthBound
from crosslens_metrics.reports.comparison_figures import BOUNDS, GainFigure, UndefinedComparison
from crosslens_metrics.reports.comparisons import (
    ModelContest,
    RankedComponent,
    RankedModel,
    RankedPair,
    pool,
    rank_models,
)
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.sampling.significance import holm, student_p
from crosslens_metrics.undefined import UndefinedReason
from tools.coverage.simulations import judged_by_raters_who_like_a_model, leads_of


def part(outcomes: list[int], *, first: int = 0) -> DecidedImages:
    return DecidedImages(np.arange(first, first + len(outcomes)), np.array(outcomes, dtype=np.int8))


def drawn(chance: float, *, images: int, seed: int) -> DecidedImages:
    """The test caption wins so often, and loses else."""
    return part(np.where(np.random.default_rng(seed).random(images) < chance, 1, -1).tolist())


def points(gain: GainFigure | UndefinedComparison) -> float:
    assert isinstance(gain, GainFigure)
    return gain.points


def test_the_pooled_gain_weighs_each_image_of_each_comparison_alike():
    pooled = pool([part([1, 1, 0, -1]), part([1, -1], first=2)], seed=0)
    assert (pooled.comparisons, pooled.images, pooled.outcomes) == (2, 4, 6)
    assert (pooled.wins, pooled.losses) == (3, 2)
    assert points(pooled.gain) == pytest.approx(100 / 6)
    assert "to other images, with these 2 comparisons (" in str(pooled.gain.as_json())


def test_the_pooled_sign_test_looks_at_each_image_once():
    pooled = pool([part([1, 1, 1, 1, 1])] * 4, seed=0)
    assert not isinstance(pooled.sign_test, UndefinedComparison)
    assert pooled.sign_test.decided == 5
    assert pooled.sign_test.p == pytest.approx(2 / 2**5)


def test_a_comparison_that_is_turned_says_the_opposite():
    once = pool([part([1, 1, 0, -1]), part([1, -1], first=2).turned().turned()], seed=0)
    turned = pool([part([1, 1, 0, -1]).turned(), part([1, -1], first=2).turned()], seed=0)
    assert points(once.gain) == -points(turned.gain)
    assert (once.wins, once.losses) == (turned.losses, turned.wins)


def test_nothing_pooled_says_why():
    pooled = pool([], seed=0)
    assert pooled.gain == UndefinedComparison(UndefinedReason.NO_IMAGES)
    assert pooled.sign_test == UndefinedComparison(UndefinedReason.NO_IMAGES)


def ranked(contests: list[ModelContest]) -> list[RankedComponent]:
    ranking = rank_models(contests)
    assert ranking is not None
    return list(ranking.components)


def strengths_of(component: RankedComponent) -> dict[str, float]:
    strengths = {model.model: model.strength for model in component.models}
    assert not any(isinstance(strength, UndefinedComparison) for strength in strengths.values())
    return strengths  # type: ignore[return-value]


def three_models(images: int = 300) -> list[ModelContest]:
    """`good` leads clearly, `fair` and `poor` are the same."""
    return [
        ModelContest("fair", "good", drawn(0.75, images=images, seed=1)),
        ModelContest("poor", "good", drawn(0.75, images=images, seed=2)),
        ModelContest("poor", "fair", drawn(0.5, images=images, seed=9)),
    ]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_models_that_differ_are_told_apart_and_those_that_do_not_are_not():
    (ranking,) = ranked(three_models())

    assert ranking.models[0].model == "good"
    assert sum(strengths_of(ranking).values()) == pytest.approx(0)
    separable = {frozenset((pair.stronger, pair.weaker)): pair.separable for pair in ranking.pairs}
    assert separable == {
        frozenset({"good", "fair"}): True,
        frozenset({"good", "poor"}): True,
        frozenset({"fair", "poor"}): False,
    }
    for pair in ranking.pairs:
        assert isinstance(pair.more_images, int)
        assert (pair.more_images == 0) == (pair.separable is True)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_which_model_is_called_base_does_not_matter():
    def turned(contest: ModelContest) -> ModelContest:
        return ModelContest(contest.test, contest.base, DecidedImages(contest.decided.image, -contest.decided.outcome))

    (straight,), (around,) = ranked(three_models()), ranked([turned(contest) for contest in three_models()])

    assert [model.model for model in straight.models] == [model.model for model in around.models]
    assert strengths_of(straight) == pytest.approx(strengths_of(around))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_model_that_never_lost_is_marked_and_the_others_have_their_intervals():
    (alone,) = ranked(three_models())
    (ranking,) = ranked([*three_models(), ModelContest("good", "perfect", part([1] * 20))])

    assert [(model.model, model.bound) for model in ranking.models][:2] == [
        ("perfect", StrengthBound.NEVER_LOST),
        ("good", StrengthBound.JUDGEMENTS),
    ]
    # A logit with half an image more on either side (Anscombe 1956): 20 won, none lost.
    assert ranking.pairs[0].difference == pytest.approx(np.log(20.5 / 0.5))
    assert (
        ranking.pairs[0].separable
        == ranking.models[0].interval
        == UndefinedComparison(UndefinedReason.STRENGTH_UNBOUNDED)
    )
    assert strengths_of(ranking) == pytest.approx(strengths_of(alone) | {"perfect": strengths_of(ranking)["perfect"]})
    assert all(isinstance(model.interval, Interval) for model in ranking.models[1:])


def test_a_group_of_models_that_never_lost_to_the_others_is_marked_but_ranked_within():
    (ranking,) = ranked(
        [*three_models(), ModelContest("good", "top", part([1] * 9)), ModelContest("top", "peak", part([1, 1, -1]))]
    )
    assert {model.model for model in ranking.models if model.bound == StrengthBound.GROUP} == {"top", "peak"}
    assert (ranking.pairs[0].stronger, ranking.pairs[0].weaker) == ("peak", "top")
    assert ranking.pairs[0].difference == pytest.approx(np.log(2))
    assert ranking.pairs[0].interval == UndefinedComparison(UndefinedReason.FEW_WINS)
    assert {model.interval for model in ranking.models[:2]} == {UndefinedComparison(UndefinedReason.GROUP_UNBOUNDED)}
    assert all(isinstance(model.interval, Interval) for model in ranking.models[2:])


def reasons_of(component: RankedComponent) -> dict[str, UndefinedReason]:
    """Why what has no interval has none, of models and pairs."""
    models = {model.model: model.interval for model in component.models}
    pairs = {f"{pair.stronger}, {pair.weaker}": pair.interval for pair in component.pairs}
    reasons = {name: why.reason for name, why in (models | pairs).items() if isinstance(why, UndefinedComparison)}
    return {name: reason for name, reason in reasons.items() if isinstance(reason, UndefinedReason)}


def bounds_of(figure: RankedModel | RankedPair) -> list[float]:
    assert isinstance(figure.interval, Interval)
    return [figure.interval.low, figure.interval.high]


def test_who_lost_all_to_one_and_won_all_against_another_is_told_no_falsehood():
    (ranking,) = ranked([ModelContest("b", "a", part([1] * 9)), ModelContest("c", "b", part([1] * 9))])

    assert [model.bound for model in ranking.models] == [
        StrengthBound.NEVER_LOST,
        StrengthBound.GROUP,
        StrengthBound.NEVER_WON,
    ]
    assert BOUNDS[StrengthBound.GROUP] == "won all or lost all against each model outside its group"
    assert reasons_of(ranking) == {
        "a": UndefinedReason.STRENGTH_UNBOUNDED,
        "b": UndefinedReason.GROUP_UNBOUNDED,
        "c": UndefinedReason.STRENGTH_UNBOUNDED,
        "a, b": UndefinedReason.STRENGTH_UNBOUNDED,
        "b, c": UndefinedReason.STRENGTH_UNBOUNDED,
        "a, c": UndefinedReason.NOT_COMPARED,
    }


def test_of_two_that_beat_a_third_and_were_never_compared_nobody_is_said_to_have_won():
    (ranking,) = ranked([ModelContest("b", "a", part([1] * 9)), ModelContest("b", "c", part([1] * 5))])

    assert reasons_of(ranking)["a, c"] == UndefinedReason.NOT_COMPARED
    assert reasons_of(ranking)["c, b"] == UndefinedReason.STRENGTH_UNBOUNDED


def test_two_that_were_never_compared_have_an_interval_by_way_of_a_third():
    (ranking,) = ranked(three_models()[:2])

    assert reasons_of(ranking) == {}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_one_model_that_nearly_always_lost_takes_no_interval_of_the_others():
    (alone,) = ranked(three_models())
    (ranking,) = ranked([*three_models(), ModelContest("good", "bad", part([-1] * 199 + [0]))])

    assert {model.bound for model in ranking.models} == {StrengthBound.JUDGEMENTS}
    concerned = {"bad", *(f"{name}, bad" for name in ("good", "fair", "poor"))}
    assert reasons_of(ranking) == dict.fromkeys(concerned, UndefinedReason.FEW_WINS)
    for pair, without in zip((pair for pair in ranking.pairs if pair.weaker != "bad"), alone.pairs, strict=True):
        assert (pair.stronger, pair.weaker, pair.separable) == (without.stronger, without.weaker, without.separable)
        assert bounds_of(pair) == pytest.approx(bounds_of(without), abs=0.05)
    # The mean of all is far lower than that of the others: intervals are about the strengths as they are shown.
    moved = strengths_of(ranking)["good"] - strengths_of(alone)["good"]
    assert moved > 1
    for model, as_it_was in zip(ranking.models, alone.models, strict=False):
        assert bounds_of(model) == pytest.approx([bound + moved for bound in bounds_of(as_it_was)], abs=0.05)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_comparison_of_few_images_takes_no_interval_of_the_models_beyond_it():
    (ranking,) = ranked([*three_models(), ModelContest("good", "bad", part([-1, 1, 0]))])

    assert len(reasons_of(ranking)) == 4
    assert all("bad" in name for name in reasons_of(ranking))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_pairs_within_two_groups_that_one_image_links_keep_their_intervals():
    beyond = ModelContest("left", "right", drawn(0.5, images=300, seed=4))
    link = ModelContest("left", "good", part([1] * 50 + [0]))
    (ranking,) = ranked([*three_models(), beyond, link])
    without = set(reasons_of(ranking))

    assert {"left", "right"} == without & {model.model for model in ranking.models}
    assert sum("," in name for name in without) == 6
    assert not without & {"left, right", "right, left"}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_models_that_were_never_compared_are_ranked_apart():
    first, second = ranked([ModelContest("a", "b", part([1, -1, 1])), *three_models()])
    assert [model.model for model in second.models] == ["b", "a"]
    assert (first.images, second.images) == (300, 3)
    (alone,) = ranked(three_models())
    assert first == alone


def contests_of(outcomes: RankingOutcomes, *, images: int) -> list[ModelContest]:
    """Of all pairs of models in the order in which they were simulated, three judgements an image."""
    contests = []
    for start in range(0, len(outcomes.image), images):
        rows, judged = slice(start, start + images), slice(3 * start, 3 * (start + images))
        decided = DecidedImages(
            outcomes.image[rows],
            outcomes.outcome[rows],
            outcomes.judged[judged] - start,
            outcomes.rater[judged],
            outcomes.sign[judged],
            outcomes.moved[judged],
        )
        contests.append(ModelContest(f"m{outcomes.base[start]}", f"m{outcomes.test[start]}", decided))
    return contests


def ranked_by(raters: int, *, seed: int, liking: float = 0, better: float = 0) -> RankedComponent:
    rng = np.random.default_rng(seed)
    outcomes = judged_by_raters_who_like_a_model(rng, models=4, images=100, raters=raters, liking=liking, better=better)
    return ranked(contests_of(outcomes, images=100))[0]


def test_what_a_few_raters_like_separates_no_models_for_others_and_the_verdict_says_so():
    found = ranked_by(3, seed=1, liking=10)
    assert {(pair.primary, pair.separable, pair.verdict) for pair in found.pairs} == {
        ("other_raters", False, "not separable")
    }
    assert any(pair.is_separable_by_these_alone for pair in found.pairs)
    assert {pair.more_images for pair in found.pairs} == {UndefinedComparison(UndefinedReason.MORE_RATERS)}


@pytest.mark.parametrize("slips", [0, 1])
def test_three_raters_who_all_but_always_agree_separate_no_models_for_others(slips):
    signs = np.repeat([[1], [-1]], [75, 25], axis=0).repeat(3, axis=1)
    signs[:slips, 0] = 0
    image = np.arange(100).repeat(3)
    judged = (image, np.tile(["a", "b", "c"], 100), signs.ravel(), moved_outcomes(signs.ravel(), image))
    decided = DecidedImages(np.arange(100), signs[:, 1].astype(np.int8), *judged)
    (found,) = ranked([ModelContest(*names, decided) for names in (("a", "b"), ("b", "c"), ("a", "c"))])
    for pair in found.pairs:
        assert isinstance(pair.other_raters, Interval)
        assert pair.other_raters.holds(0)
        assert pair.p == pytest.approx(0.25, rel=0.05)
        assert pair.verdict == "not separable"


def test_ten_raters_separate_the_better_model_for_others():
    found = ranked_by(10, seed=1, better=16)
    verdicts = {frozenset((pair.stronger, pair.weaker)): pair.verdict for pair in found.pairs}
    assert {verdict for pair, verdict in verdicts.items() if "m0" in pair} == {"separable"}
    assert {verdict for pair, verdict in verdicts.items() if "m0" not in pair} == {"not separable"}
    for pair in found.pairs:
        # From five raters on the p-value is that of the interval.
        assert isinstance(pair.other_raters, Interval)
        assert isinstance(pair.p, float)
        assert (pair.p < 0.05) == (not pair.other_raters.holds(0))


def test_raters_who_are_not_known_separate_models_for_themselves_alone():
    (ranking,) = ranked(three_models())
    assert {pair.verdict for pair in ranking.pairs} == {
        "separable with these raters",
        "not separable with these raters",
    }
    assert {pair.other_raters for pair in ranking.pairs} == {UndefinedComparison(UndefinedReason.ONE_RATER)}


@pytest.mark.long(reason="200 rankings of raters who differ")
def test_raters_who_differ_hardly_ever_separate_equal_models():
    false: dict[str, list[bool]] = {"others": [], "these": [], "Satterthwaite": []}
    rng = np.random.default_rng(6)
    for _ in range(200):
        outcomes = judged_by_raters_who_like_a_model(rng, models=4, images=100, raters=3, liking=6)
        leads = leads_of(outcomes, models=4)
        for name, p in (
            ("others", [lead.p_to_correct for lead in leads]),
            ("these", [student_p(lead.value, *lead.these) for lead in leads]),
            ("Satterthwaite", [student_p(lead.value, *lead.others) for lead in leads]),
        ):
            false[name].append(bool(holm(p).min() < 0.05))
    assert np.mean(false["others"]) <= 0.05
    assert np.mean(false["these"]) > 0.5
    assert np.mean(false["Satterthwaite"]) > 0.08


def test_one_comparison_without_outcomes_and_too_few_models_make_no_ranking():
    assert rank_models([ModelContest("a", "b", part([1, -1])), ModelContest("c", "d", part([]))]) is None


def test_too_few_images_leave_strengths_without_intervals():
    contests = [
        ModelContest("a", "b", part([1, 1, 1, -1])),
        ModelContest("b", "c", part([1, 1, -1, 1])),
        ModelContest("a", "c", part([1, 1, 1, 1])),
    ]
    (ranking,) = ranked(contests)
    assert [model.model for model in ranking.models] == ["c", "b", "a"]
    assert {model.interval for model in ranking.models} == {UndefinedComparison(UndefinedReason.FEW_WINS)}
    assert {pair.separable for pair in ranking.pairs} == {UndefinedComparison(UndefinedReason.FEW_WINS)}


@pytest.mark.parametrize(
    ("decided", "reason"),
    [
        pytest.param([[1], [0], [0]], UndefinedReason.FEW_WINS, id="one image"),
        pytest.param(
            [[0] * 15, [0] * 13, [0] * 14],
            UndefinedReason.NO_VARIATION,
            id="all ties, of some images in two comparisons only",
        ),
        pytest.param([[1] * 6, [1] * 6, [-1] * 6], UndefinedReason.NO_VARIATION, id="a cycle on each image"),
        pytest.param([[1] * 12, [0] * 12, [0] * 12], UndefinedReason.NO_VARIATION, id="the same on each image"),
    ],
)
def test_images_that_are_all_alike_make_nothing_certain(decided, reason):
    sides = [("a", "b"), ("b", "c"), ("a", "c")]
    (ranking,) = ranked([ModelContest(*pair, part(outcomes)) for pair, outcomes in zip(sides, decided, strict=True)])

    unknown = UndefinedComparison(reason)
    assert {model.interval for model in ranking.models} == {unknown}
    for pair in ranking.pairs:
        assert [pair.interval, pair.p, pair.p_holm, pair.separable, pair.images_needed, pair.more_images] == [
            unknown
        ] * 6
