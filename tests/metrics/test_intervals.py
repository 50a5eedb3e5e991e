"""Exact intervals of shares."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from crosslens_metrics.sampling.intervals import Interval, percentile_interval, share_bounds, share_interval


@pytest.mark.parametrize("trials", [1, 2, 7, 40, 1_000])
def test_the_interval_of_a_share_is_the_one_of_the_exact_binomial_test(trials):
    for successes in {0, 1, trials // 3, trials // 2, trials - 1, trials}:
        published = scipy.stats.binomtest(successes, trials).proportion_ci(confidence_level=0.95, method="exact")
        interval = share_interval(successes, trials)
        assert [interval.low, interval.high] == pytest.approx([published.low, published.high], abs=1e-9)


def test_many_shares_at_once_are_the_same_as_one_by_one():
    low, high = share_bounds([0, 3, 9], [4, 9, 9])
    one_by_one = [share_interval(*share) for share in ((0, 4), (3, 9), (9, 9))]
    assert low == pytest.approx([interval.low for interval in one_by_one])
    assert high == pytest.approx([interval.high for interval in one_by_one])


def test_without_trials_nothing_is_known_of_a_share():
    assert share_interval(0, 0) == Interval(0.0, 1.0)


def test_a_percentile_interval_is_the_middle_of_the_resamples():
    interval = percentile_interval(np.arange(1_001))
    assert [interval.low, interval.high, interval.width] == pytest.approx([25, 975, 950])
    assert interval.holds(26)
    assert not interval.holds(24)
