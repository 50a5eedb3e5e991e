"""Intervals over players and of means hold the truth as often as they claim; each has a control that does not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy

from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import mean_interval, paired_interval, share_interval
from crosslens_metrics.sampling.resampling import subset_sums
from crosslens_metrics.sampling.significance import anytime_interval, holm, sign_test, unanimous_p
from crosslens_metrics.sampling.variance import (
    VarianceComponent,
    clustered,
    jackknife,
    ratio_bounds,
    two_way,
    unanimous_interval,
)
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tools.coverage.simulations import MeasuredCoverage

RUNS, TURNS, TRUTH = 400, 20, 0.5


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("players", [2, 3, 5, 20])
def test_the_interval_over_players_holds_the_truth_where_that_over_turns_does_not(players: int) -> None:
    rng = np.random.default_rng([7, players])
    held, held_by_turns = [], []
    for _ in range(RUNS):
        # Right answers of each player: their skills vary around the truth.
        right = rng.binomial(TURNS, rng.beta(2, 2, size=players)).astype(float)
        (low,), (high,) = ratio_bounds(right[:, None], np.full((players, 1), TURNS))
        held.append(low == high or low <= TRUTH <= high)
        held_by_turns.append(share_interval(int(right.sum()), players * TURNS).holds(TRUTH))
    assert not MeasuredCoverage.of(held).is_too_low
    assert MeasuredCoverage.of(held_by_turns).is_too_low


def test_students_interval_holds_the_truth_where_the_normal_one_does_not() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(0.5, 0.1, size=(4_000, 4))
    held, held_narrow = [], []
    for row in values:
        interval = mean_interval(row.sum(), np.square(row).sum(), 4)
        held.append(interval.holds(0.5))
        held_narrow.append(abs(row.mean() - 0.5) <= 1.96 * row.std(ddof=1) / 2)
    assert MeasuredCoverage.of(held).is_nominal
    assert MeasuredCoverage.of(held_narrow).is_too_low


def test_the_jackknife_over_units_of_equal_size_is_students_variance() -> None:
    values = np.random.default_rng(9).normal(0.5, 0.1, size=8)
    (low,), (high,) = ratio_bounds(values[:, None], np.ones((8, 1)), least=-100, most=100)
    student = mean_interval(values.sum(), np.square(values).sum(), 8)
    assert (low, high) == (pytest.approx(student.low, rel=1e-3), pytest.approx(student.high, rel=1e-3)), (
        "In the middle of a wide scale, log-odds are straight."
    )
    left_out = [np.delete(values, unit).mean() for unit in range(8)]
    assert jackknife(left_out).variance == pytest.approx(values.var(ddof=1) / 8)
    assert clustered((values - values.mean()) / 8, range(8)).variance == pytest.approx(values.var(ddof=1) / 8)


def test_bounds_over_units_say_what_they_cannot_know() -> None:
    assert np.isnan(ratio_bounds([[1.0]], [[2.0]])).all(), "One player does not show how players differ."
    low, high = ratio_bounds([[1, 2], [0, 2]], [[1, 2], [0, 2]])
    assert np.isnan([low[0], high[0]]).all(), "Only one has a denominator."
    assert (low[1], high[1]) == (pytest.approx(0.025**0.5), 1), "Two of two are no certainty."
    (low,), (high,) = ratio_bounds([[0.1], [0.3]], [[0.3], [0.9]])
    assert low == high, "Digits that only rounding makes are no width."
    (low,), (high,) = ratio_bounds([[-1.0], [-1.0], [-1.0]], np.ones((3, 1)), least=-1, most=1)
    assert (low, high) == (-1, pytest.approx(1 - 2 * 0.025 ** (1 / 3))), "Three of three at the end of any scale."


def test_of_two_factors_neither_is_lost_and_what_both_hold_counts_once() -> None:
    images, raters = VarianceComponent(4.0, 600), VarianceComponent(1.0, 5)
    assert two_way(images, raters, 0.5)[0] == pytest.approx(4.5)
    assert two_way(images, raters, 3.0)[0] == 4.0, "Never less than one factor alone."
    assert two_way(VarianceComponent(0.0, 600), VarianceComponent(1.0, 5), 0.0)[1] == pytest.approx(4), (
        "The raters' degrees of freedom."
    )


def test_unanimous_units_claim_as_much_as_clopper_and_pearson() -> None:
    for units in (3, 30):
        assert unanimous_interval(units, 1, low=0, high=1).low == pytest.approx(share_interval(units, units).low)
        assert unanimous_p(units, 1, reach=1) == pytest.approx(sign_test(units, 0))
    assert unanimous_interval(3, -100, low=-100, high=100).high == pytest.approx(41.5, abs=0.1)
    # Of raters like three, 29% have the same value for certain, and the others may have any.
    between = unanimous_interval(3, 50, low=-100, high=100)
    assert [between.low, between.high] == pytest.approx([-56.1, 85.4], abs=0.1)
    assert unanimous_p(3, 50, reach=100) == pytest.approx(2 * (2 / 3) ** 3)


def test_the_less_units_are_alike_the_less_the_others_can_be_from_their_value() -> None:
    widths = [unanimous_interval(3, 50, low=-100, high=100, alike=alike).width for alike in (1, 0.99, 0.5, 0)]
    assert widths == pytest.approx([141.5, 140.1, 70.8, 0], abs=0.1)
    p_values = [unanimous_p(3, 50, reach=100, alike=alike) for alike in (1, 0.99, 0.5, 0)]
    assert p_values == pytest.approx([0.593, 0.583, 0.074, 0], abs=0.001)
    assert unanimous_p(3, 0, reach=100, alike=0) == 1


def test_a_difference_of_shares_is_that_of_decided_pairs_times_that_among_them() -> None:
    # Of 600 of 600 Clopper and Pearson's lower bound is 0.025 ** (1 / 600) = 0.993871.
    interval = paired_interval(600, 0, 600)
    assert [interval.low, interval.high] == pytest.approx([0.993871 * (2 * 0.993871 - 1), 1.0], abs=1e-6)
    assert paired_interval(0, 600, 600).low == -1
    # Of 4 of 4 it is 0.397635; all pairs may be decided.
    assert paired_interval(4, 0, 4).low == pytest.approx(2 * 0.397635 - 1, abs=1e-6)
    nothing = paired_interval(0, 0, 10)
    assert [nothing.low, nothing.high] == pytest.approx([-0.308498, 0.308498], abs=1e-6)


@pytest.mark.parametrize("pairs", [1, 2, 5, 6, 8, 13, 20])
def test_a_difference_of_shares_leaves_out_zero_exactly_where_the_sign_test_finds_one(pairs: int) -> None:
    for first, second in product(range(pairs + 1), repeat=2):
        if 0 < first + second <= pairs:
            assert (not paired_interval(first, second, pairs).holds(0)) == (sign_test(first, second) < 0.05)


def test_holm_multiplies_the_smallest_by_all_and_never_turns_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


def test_an_interval_that_holds_at_any_time_is_wider_and_not_left_by_looking() -> None:
    rng, looks, left_by_either = np.random.default_rng(3), range(50, 601, 50), [0, 0]
    for _ in range(100):
        outcomes = rng.choice([1, -1, 0], size=600, p=[0.4, 0.4, 0.2])
        is_out = [False, False]
        for images in looks:
            wins, losses = int((outcomes[:images] > 0).sum()), int((outcomes[:images] < 0).sum())
            anytime, fixed = anytime_interval(wins, losses, images), paired_interval(wins, losses, images)
            assert anytime.width > fixed.width
            is_out = [is_out[0] or not anytime.holds(0), is_out[1] or not fixed.holds(0)]
        left_by_either = [left_by_either[0] + is_out[0], left_by_either[1] + is_out[1]]
    assert left_by_either[0] <= 5
    assert left_by_either[1] > 12, "Whoever looks at a fixed interval twelve times is misled by it."


@pytest.mark.parametrize(("wins", "losses", "neither"), [(3, 1, 2), (0, 4, 0), (5, 0, 5)])
def test_the_best_likelihood_under_a_difference_is_what_a_search_finds(wins: int, losses: int, neither: int) -> None:
    from crosslens_metrics.sampling.significance import _best_likelihood

    for difference in (-0.4, 0.0, 0.7):

        def worse(loss: float, difference: float = difference) -> float:
            chances = [loss + difference, loss, max(0.0, 1 - difference - 2 * loss)]
            return -float(scipy.special.xlogy([wins, losses, neither], chances).sum())

        found = scipy.optimize.minimize_scalar(
            worse, bounds=(max(0, -difference), (1 - difference) / 2), method="bounded", options={"xatol": 1e-10}
        )
        assert _best_likelihood(wins, losses, neither, difference) == pytest.approx(-found.fun, abs=1e-6)


def test_a_design_says_what_its_interval_holds_for() -> None:
    design = SamplingDesign(Method.BOOTSTRAP, {Factor.IMAGE: 600}, {Factor.RATER: 5})
    assert design.words == "generalises to other images, with these 5 raters (percentile bootstrap)"
    both = SamplingDesign(Method.TWO_WAY, {Factor.IMAGE: 600, Factor.RATER: 5})
    assert both.words.startswith("generalises to other images and other raters like these (two-way")
    assert both.as_json()["varies"] == {"image": 600, "rater": 5}


@pytest.mark.parametrize(
    ("values", "reason"), [([0.5], UndefinedReason.NO_VARIATION), ([0.5, 0.5], UndefinedReason.NO_VARIATION)]
)
def test_a_mean_without_variation_has_no_interval(values: list[float], reason: UndefinedReason) -> None:
    with pytest.raises(UndefinedFigureError) as caught:
        mean_interval(sum(values), sum(value**2 for value in values), len(values))
    assert caught.value.reason == reason


@pytest.mark.parametrize("size", [2, 9, 10])
def test_subsets_are_drawn_without_replacement_and_evenly(size: int) -> None:
    sums = subset_sums(np.eye(10), size=size, resamples=3_000, rng=np.random.default_rng(2))
    assert set(np.unique(sums)) <= {0.0, 1.0}
    assert (sums.sum(axis=1) == size).all()
    assert sums.mean(axis=0) == pytest.approx(np.full(10, size / 10), abs=0.04)


@pytest.mark.parametrize(("players", "least"), [(5, 0.478), (10, 0.692)])
def test_one_turn_amiss_does_not_make_players_who_all_but_agree_certain(players: int, least: float) -> None:
    right, turns = np.full((players, 2), 20.0), np.full((players, 2), 20.0)
    right[0, 1] = 19
    low, high = ratio_bounds(right, turns)
    assert low[0] == pytest.approx(least, abs=0.001)
    assert low[1] == pytest.approx(least, abs=0.08)
    assert high.tolist() == pytest.approx([1, 1], abs=0.001)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_share_holds_where_one_player_in_ten_is_no_good() -> None:
    rng = np.random.default_rng(5)
    found = rng.binomial(20, np.where(rng.random((10, 2_000)) < 0.1, 0.5, 0.99))
    low, high = ratio_bounds(found, np.full(found.shape, 20))
    truth = 0.1 * 0.5 + 0.9 * 0.99
    assert np.mean((low <= truth) & (truth <= high)) > 0.93


def test_units_of_very_different_sizes_count_as_fewer() -> None:
    alike = clustered([1, -1] * 6, np.repeat(np.arange(4), 3))
    assert (alike.units, alike.degrees_of_freedom) == (4, 3)
    # One of four has half of the rows: 12² / (6² + 3 × 2²) is 3.
    unlike = clustered([1, -1] * 6, np.repeat(np.arange(4), [6, 2, 2, 2]))
    assert (unlike.units, unlike.degrees_of_freedom) == (4, 2)
    one_alone = clustered([1, -1] * 6, np.repeat(np.arange(3), [10, 1, 1]))
    assert one_alone.degrees_of_freedom == 1

    turns, right = np.array([[20, 44], [20, 8], [20, 8]]), np.array([[12, 26], [10, 4], [11, 5]])
    low, high = ratio_bounds(right, turns)
    assert high[1] - low[1] > 1.5 * (high[0] - low[0])
