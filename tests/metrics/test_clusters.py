"""Intervals over clusters and of means hold the truth as often as they claim; each has a control that does not."""

from __future__ import annotations

import numpy as np
import pytest

from crosslens_metrics.clusters import MAX_CLUSTERS, mean_interval, ratio_bounds, subset_sums
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tests.metrics.test_coverage_of_intervals import Coverage

RUNS, PLAYERS, TURNS, TRUTH = 400, 60, 20, 0.5


def players_who_differ(rng: np.random.Generator) -> np.ndarray:
    """Right answers of each player, of TURNS: their skills vary around TRUTH."""
    return rng.binomial(TURNS, rng.beta(2, 2, size=PLAYERS)).astype(float)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_interval_over_players_holds_the_truth_where_that_over_turns_does_not() -> None:
    rng = np.random.default_rng(7)
    held, held_by_turns = [], []
    for _ in range(RUNS):
        right = players_who_differ(rng)
        low, high = ratio_bounds(right[:, None], np.full((PLAYERS, 1), TURNS), resamples=500, rng=rng)
        held.append(low[0] <= TRUTH <= high[0])
        total = right.sum()
        held_by_turns.append(mean_interval(total, total, PLAYERS * TURNS).holds(TRUTH))
    # A percentile bootstrap over 60 clusters is a little too narrow: 93 to 94%.
    assert Coverage.of(held).share > 0.91
    assert Coverage.of(held_by_turns).is_too_low


def test_students_interval_holds_the_truth_where_the_normal_one_does_not() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(0.5, 0.1, size=(4_000, 4))
    held, held_narrow = [], []
    for row in values:
        interval = mean_interval(row.sum(), np.square(row).sum(), 4)
        held.append(interval.holds(0.5))
        held_narrow.append(abs(row.mean() - 0.5) <= 1.96 * row.std(ddof=1) / 2)
    assert Coverage.of(held).is_nominal
    assert Coverage.of(held_narrow).is_too_low


def test_putting_many_clusters_together_keeps_the_width() -> None:
    rng = np.random.default_rng(9)
    right = rng.binomial(1, 0.5, size=(10 * MAX_CLUSTERS, 1)).astype(float)
    low, high = ratio_bounds(right, np.ones_like(right), resamples=1_000, rng=rng)
    assert float(high[0] - low[0]) == pytest.approx(3.92 * 0.5 / np.sqrt(10 * MAX_CLUSTERS), rel=0.1)


def test_one_cluster_and_empty_denominators_have_no_bounds() -> None:
    rng = np.random.default_rng(1)
    assert np.isnan(ratio_bounds([[1.0]], [[2.0]], resamples=100, rng=rng)).all()
    low, high = ratio_bounds([[1, 1], [0, 1]], [[1, 1], [0, 1]], resamples=200, rng=rng)
    assert np.isnan([low[0], high[0]]).all()
    assert low[1] == high[1] == 1
    (low,), (high,) = ratio_bounds([[0.1], [0.3]], [[0.3], [0.9]], resamples=200, rng=rng)
    assert low == high, "Digits that only rounding makes are no width."


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
