"""Paired differences: Fisher's count, what bootstrap and permutation promise and refuse; and the exact sign test."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from crosslens_metrics import paired
from crosslens_metrics.paired import paired_difference, paired_difference_of_sums
from crosslens_metrics.sampling.intervals import middle_of
from crosslens_metrics.sampling.resampling import bootstrap_interval, resample_weights
from crosslens_metrics.sampling.significance import sign_test
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tools.coverage.simulations import MeasuredCoverage, apart_in_scores, bootstrapped_means

CROSSED = np.array([188, 96, 168, 176, 153, 172, 177, 163, 146, 173, 186, 168, 177, 184, 96]) / 8
SELF_FERTILISED = np.array([139, 163, 160, 160, 147, 149, 149, 122, 132, 144, 130, 144, 102, 124, 144]) / 8
"""Heights in inches of Darwin's pairs of Zea mays."""


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def noisy(images: int, *, better_by: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    base = rng(seed).normal(1, 0.5, size=images)
    return base + better_by + rng(seed + 1).normal(0, 0.3, size=images), base


def test_darwins_plants_give_the_exact_p_that_fisher_counted():
    """Fisher (1935), section 21: 1,726 of all 32,768 ways are at least as uneven."""
    paired = paired_difference(CROSSED, SELF_FERTILISED, method="permutation", resamples=2**15, rng=rng())

    assert paired.difference == pytest.approx(314 / 8 / 15)
    assert paired.p == 1_726 / 32_768


def test_sampled_permutations_come_near_the_exact_p():
    paired = paired_difference(CROSSED, SELF_FERTILISED, method="permutation", resamples=2**15 - 1, rng=rng())
    assert paired.p == pytest.approx(1_726 / 32_768, abs=0.005)
    assert paired.p != 1_726 / 32_768


def test_the_interval_is_that_of_all_resamples_there_are():
    # Of 20 images that are ten of each kind: how many are of the one is binomial.
    first, second = np.tile([3.0, 1], 10), np.tile([2.0, 8], 10)
    low, high = scipy.stats.binom.ppf([0.025, 0.975], 20, 0.5)

    paired = paired_difference(first, second, method="bootstrap", resamples=40_000, rng=rng())

    assert [paired.interval.low, paired.interval.high] == pytest.approx([-7 + 8 * low / 20, -7 + 8 * high / 20])
    assert paired.interval.design.words == ("generalises to other images, with these 2 models (percentile bootstrap)")


FEW = np.array([3.0, 1, 4, 1, 5]), np.array([2.0, 0, 1, -1, 2])
"""Apart by 1, 1, 3, 2, 3: 2 on average, with a variance of 1."""


@pytest.mark.parametrize("method", paired.METHODS)
def test_few_images_are_not_resampled_but_have_students_interval_and_an_exact_p(method):
    found = paired_difference(*FEW, method=method, resamples=1, rng=rng())

    assert found.difference == pytest.approx(2)
    assert found.method == "permutation"
    # t = 2.776445 with four degrees of freedom.
    assert [found.interval.low, found.interval.high] == pytest.approx([2 - 1.241664, 2 + 1.241664], abs=1e-6)
    assert found.interval.design.words == "generalises to other images, with these 2 models (Student’s t)"
    assert (found.p, found.smallest_p, found.can_be_significant) == (2 / 2**5, 2 / 2**5, False)


@pytest.mark.parametrize(("alike", "smallest"), [(0, 2 / 2**7), (2, 2 / 2**5)])
def test_images_on_which_both_score_the_same_make_no_p_smaller(alike, smallest):
    apart = np.array([0.0] * alike + [1, 2, -3, 4, 5, 6, 7][: 7 - alike])
    found = paired_difference(apart, np.zeros(7), method="permutation", resamples=100, rng=rng())
    assert found.smallest_p == smallest
    assert found.can_be_significant is (alike == 0)


def test_few_images_whose_scores_depend_on_each_other_have_a_p_and_no_interval():
    sums = [np.stack([scores, np.ones(5)], axis=1) for scores in FEW]
    for found in (
        paired_difference(*FEW, method="bootstrap", resamples=1, rng=rng(), are_independent=False),
        paired_difference_of_sums(*sums, statistic=ratio, method="bootstrap", resamples=1, rng=rng()),
    ):
        assert (found.interval, found.why_no_interval, found.p) == (None, UndefinedReason.FEW_IMAGES, 2 / 2**5)


@pytest.mark.long(reason="4,000 studies of each size")
@pytest.mark.parametrize("images", [3, 5, 7, 12])
def test_students_interval_of_few_images_holds_the_truth_where_the_bootstraps_does_not(images):
    held, held_by_bootstrap, found, found_by_bootstrap = [], [], [], []
    draw = rng(images)
    for apart in apart_in_scores(images, better=1.0, runs=4_000, rng=draw):
        one = paired_difference(apart, np.zeros(images), method="bootstrap", resamples=200, rng=draw)
        resampled = bootstrapped_means(apart, draw)
        held.append(one.interval.holds(0))
        held_by_bootstrap.append(middle_of(resampled).holds(0))
        found.append(one.p <= 0.05)
        found_by_bootstrap.append(np.mean(np.abs(resampled - one.difference) >= abs(one.difference)) <= 0.05)
    assert not MeasuredCoverage.of(held).is_too_low
    assert MeasuredCoverage.of(held_by_bootstrap).is_too_low
    assert np.mean(found) <= 0.06
    assert np.mean(found_by_bootstrap) > 0.06


@pytest.mark.parametrize("method", paired.METHODS)
def test_a_clear_difference_is_significant_and_none_is_not(method):
    clear = paired_difference(*noisy(300, better_by=0.2), method=method, resamples=2_000, rng=rng())
    none = paired_difference(*noisy(300, better_by=0.0, seed=4), method=method, resamples=2_000, rng=rng())

    assert clear.p == 1 / 2_001
    assert clear.interval.low > 0
    assert none.p > 0.05
    assert none.interval.holds(0)


@pytest.mark.parametrize("method", paired.METHODS)
def test_exchanging_the_models_turns_the_difference_around(method):
    first, second = noisy(40, better_by=0.08)

    there = paired_difference(first, second, method=method, resamples=4_000, rng=rng())
    back = paired_difference(second, first, method=method, resamples=4_000, rng=rng())

    assert back.difference == -there.difference
    assert [back.interval.low, back.interval.high] == pytest.approx([-there.interval.high, -there.interval.low])
    assert back.p == pytest.approx(there.p, abs=0.02)


@pytest.mark.parametrize("method", paired.METHODS)
def test_no_units_matter_but_those_of_the_metric(method):
    first, second = noisy(50, better_by=0.08)

    plain = paired_difference(first, second, method=method, resamples=999, rng=rng())
    hundredfold = paired_difference(100 * first + 7, 100 * second + 7, method=method, resamples=999, rng=rng())

    assert hundredfold.difference == pytest.approx(100 * plain.difference)
    assert hundredfold.interval.low == pytest.approx(100 * plain.interval.low)
    assert hundredfold.p == plain.p


@pytest.mark.long(reason="at least three others run each of its lines")
def test_where_models_are_equal_p_is_spread_evenly():
    """A test at 10% is wrong about 10% of the time."""
    ps = {
        method: np.mean(
            [
                paired_difference(*noisy(60, better_by=0, seed=2 * seed), method=method, resamples=200, rng=rng()).p
                <= 0.1
                for seed in range(300)
            ]
        )
        for method in paired.METHODS
    }
    assert 0.05 < ps["permutation"] < 0.15
    assert 0.05 < ps["bootstrap"] < 0.16


def ratio(sums: np.ndarray) -> np.ndarray:
    return np.asarray(sums[:, 0] / sums[:, 1])


@pytest.mark.parametrize("method", paired.METHODS)
def test_a_figure_that_follows_from_sums_is_not_taken_for_a_mean_of_images(method):
    lengths = rng(1).integers(5, 20, size=(80, 2)).astype(float)
    matches = np.floor(lengths * [[0.6, 0.4]])
    first, second = (np.stack([matches[:, model], lengths[:, model]], axis=1) for model in (0, 1))

    difference = paired_difference_of_sums(first, second, statistic=ratio, method=method, resamples=500, rng=rng())

    sums = first.sum(axis=0), second.sum(axis=0)
    assert difference.difference == pytest.approx(sums[0][0] / sums[0][1] - sums[1][0] / sums[1][1])
    assert difference.interval.holds(difference.difference)
    assert difference.p < 0.05


@pytest.mark.parametrize("method", paired.METHODS)
def test_many_images_put_together_at_random_give_much_the_same(method, monkeypatch):
    first, second = noisy(4_000, better_by=0.008)
    whole = paired_difference(first, second, method=method, resamples=2_000, rng=rng())
    monkeypatch.setattr(paired, "MAX_UNITS", 1_000)

    grouped = paired_difference(first, second, method=method, resamples=2_000, rng=rng())

    assert grouped.difference == pytest.approx(whole.difference)
    assert grouped.interval.width == pytest.approx(whole.interval.width, rel=0.15)
    assert grouped.p == pytest.approx(whole.p, abs=0.06)


def test_the_same_seed_gives_the_same_and_another_one_another():
    first, second = noisy(30, better_by=0.1)
    one, again, other = (
        paired_difference(first, second, method="bootstrap", resamples=500, rng=rng(seed)) for seed in (5, 5, 6)
    )
    assert one == again != other


@pytest.mark.parametrize(
    ("first", "second", "method", "reason"),
    [
        *(([], [], method, UndefinedReason.NO_IMAGES) for method in paired.METHODS),
        *(([0.3], [0.1], method, UndefinedReason.NO_VARIATION) for method in paired.METHODS),
        (np.arange(20.0), np.arange(20.0), "bootstrap", UndefinedReason.NO_VARIATION),
        (np.arange(20.0), np.arange(20.0) + 0.1, "bootstrap", UndefinedReason.NO_VARIATION),
    ],
)
def test_what_resampling_cannot_show_is_undefined(first, second, method, reason):
    with pytest.raises(UndefinedFigureError) as refused:
        paired_difference(first, second, method=method, resamples=200, rng=rng())
    assert refused.value.reason == reason


@pytest.mark.parametrize(("images", "apart", "p"), [(12, 0.1, 2 / 2**12), (12, 0.0, 1), (5, 0.1, 2 / 2**5)])
def test_a_permutation_tests_what_is_the_same_on_all_images_and_no_resample_could_bound(images, apart, p):
    second = rng().random(images)
    result = paired_difference(second + apart, second, method="permutation", resamples=5_000, rng=rng())
    assert (result.interval, result.why_no_interval) == (None, UndefinedReason.NO_VARIATION)
    assert result.p == pytest.approx(p)


@pytest.mark.parametrize(
    ("first", "second", "method", "message"),
    [
        ([1, 2], [1], "bootstrap", "equally many"),
        ([1, np.nan], [1, 2], "bootstrap", "Image 1 .* first"),
        ([1, 2], [1, np.inf], "permutation", "Image 1 .* second"),
        ([1, 2], [2, 4], "jackknife", "jackknife"),
    ],
)
def test_what_cannot_be_paired_is_refused(first, second, method, message):
    with pytest.raises(ValueError, match=message):
        paired_difference(first, second, method=method, resamples=200, rng=rng())


def test_no_resample_is_refused():
    with pytest.raises(ValueError, match="One resample or more"):
        paired_difference(np.arange(8) ** 2, np.arange(8), method="bootstrap", resamples=0, rng=rng())


def test_every_resample_draws_as_many_units_as_there_are():
    weights = np.concatenate(list(resample_weights(7, resamples=2_000, rng=rng())))
    assert weights.shape == (2_000, 7)
    assert (weights.sum(axis=1) == 7).all()
    assert weights.mean(axis=0) == pytest.approx(1, abs=0.08)


def test_resamples_come_in_parts_that_do_not_change_them(monkeypatch):
    whole = np.concatenate(list(resample_weights(50, resamples=90, rng=rng())))
    monkeypatch.setattr("crosslens_metrics.sampling.resampling.CELLS_AT_ONCE", 400)
    assert np.array_equal(np.concatenate(list(resample_weights(50, resamples=90, rng=rng()))), whole)


def test_an_interval_lacks_what_more_than_one_in_a_hundred_resamples_lack():
    values = np.arange(10.0)

    def mean_unless(share):
        def statistic(weights):
            means = weights @ values / 10
            means[: int(share * len(means))] = np.nan
            return means

        return statistic

    assert bootstrap_interval(mean_unless(0.01), 10, resamples=1_000, rng=rng()).holds(4.5)
    with pytest.raises(UndefinedFigureError) as refused:
        bootstrap_interval(mean_unless(0.02), 10, resamples=1_000, rng=rng())
    assert refused.value.reason == UndefinedReason.RESAMPLES_UNDEFINED
    with pytest.raises(UndefinedFigureError) as refused:
        bootstrap_interval(lambda weights: weights[:, 0], 0, resamples=1_000, rng=rng())
    assert refused.value.reason == UndefinedReason.NO_IMAGES


@pytest.mark.parametrize(("wins", "losses"), [(5, 2), (2, 5), (0, 1), (6, 0), (4, 4), (60, 41), (12_000, 12_300)])
def test_the_sign_test_is_the_exact_binomial_one(wins, losses):
    assert sign_test(wins, losses) == pytest.approx(scipy.stats.binomtest(wins, wins + losses).pvalue, abs=1e-9)


def test_the_sign_test_by_hand():
    assert sign_test(5, 2) == pytest.approx(2 * (1 + 7 + 21) / 2**7)


def test_without_a_decided_image_there_is_no_sign_test():
    with pytest.raises(UndefinedFigureError) as refused:
        sign_test(0, 0)
    assert refused.value.reason == UndefinedReason.NO_DECIDED


def test_a_negative_number_of_images_is_refused():
    with pytest.raises(ValueError, match="negative"):
        sign_test(3, -1)
