"""Correlations against published ones, against scipy's, and what must not change them."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
import scipy
from hypothesis import assume, given
from hypothesis import strategies as st

from crosslens_metrics.correlation_intervals import evaluation_interval
from crosslens_metrics.correlations import (
    FUNCTIONS,
    Coefficient,
    correlation,
    flipped,
    kendall_tau_b,
    matthews,
    pearson,
    ranks,
    spearman,
)
from crosslens_metrics.model_ranks import TiedRanks, model_ranks, rank_agreement
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tests.published import published

ANSCOMBE = (
    [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5],
    [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68],
)
THEIRS = {
    Coefficient.PEARSON: lambda x, y: scipy.stats.pearsonr(x, y).statistic,
    Coefficient.SPEARMAN: lambda x, y: scipy.stats.spearmanr(x, y).statistic,
    Coefficient.KENDALL: lambda x, y: scipy.stats.kendalltau(x, y).statistic,
    Coefficient.MATTHEWS: lambda x, y: scipy.stats.pearsonr(np.asarray(x) > 0, np.asarray(y) > 0).statistic,
}

tenths = st.integers(-12, 12).map(lambda number: number / 10)
evaluations = st.lists(st.tuples(tenths, tenths), min_size=2, max_size=25).map(lambda pairs: np.array(pairs).T)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def defined(coefficient: Coefficient, x, y, *, flip: bool) -> float:
    try:
        return correlation(x, y, coefficient=coefficient, flip=flip)
    except UndefinedFigureError:
        assume(False)
        raise


def test_anscombes_first_set_has_the_published_correlation():
    assert pearson(*ANSCOMBE) == pytest.approx(0.816, abs=0.0005)


def test_the_published_table_of_correlations_without_flipping_comes_out():
    with published("tables/crossmodal_draft_table5.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with published("tables/crossmodal_draft_table6_expected.csv").open(newline="", encoding="utf-8") as file:
        expected = list(csv.DictReader(file))
    people = [float(row["sxs_gain"]) for row in rows]

    for metric in ("delta_cider_3600", "delta_cider_val"):
        differences = [float(row[metric]) for row in rows]
        table = {
            row["coefficient"]: FUNCTIONS[Coefficient(row["coefficient"])](people, differences) for row in expected
        }
        assert {name: f"{value:.2f}" for name, value in table.items()} == {
            row["coefficient"]: row[metric] for row in expected
        }


@pytest.mark.long(reason="at least three others run each of its lines")
@given(evaluations, st.sampled_from(list(Coefficient)), st.booleans())
def test_coefficients_are_those_of_scipy(points, coefficient, flip):
    x, y = points
    value = defined(coefficient, x, y, flip=flip)
    assert value == pytest.approx(THEIRS[coefficient](*(flipped(x, y) if flip else (x, y))), abs=1e-9)


@given(evaluations, st.sampled_from(list(Coefficient)))
def test_with_flipping_it_does_not_matter_which_model_is_the_base(points, coefficient):
    x, y = points
    signs = rng(1).choice([-1, 1], size=len(x))
    value = defined(coefficient, x, y, flip=True)

    assert defined(coefficient, signs * x, signs * y, flip=True) == pytest.approx(value, abs=1e-9)


@given(evaluations)
def test_with_flipping_pearson_is_the_cosine_about_zero(points):
    x, y = points
    value = defined(Coefficient.PEARSON, x, y, flip=True)
    assert value == pytest.approx(float(x @ y) / math.sqrt(float(x @ x) * float(y @ y)), abs=1e-9)


@given(evaluations, st.sampled_from(list(Coefficient)), st.booleans())
def test_exchanging_the_two_or_the_unit_changes_nothing(points, coefficient, flip):
    x, y = points
    value = defined(coefficient, x, y, flip=flip)
    assert correlation(y, x, coefficient=coefficient, flip=flip) == pytest.approx(value, abs=1e-9)
    assert correlation(100 * x, y / 7, coefficient=coefficient, flip=flip) == pytest.approx(value, abs=1e-9)


@given(evaluations)
def test_ranks_only_look_at_the_order(points):
    x, y = points
    for coefficient in (Coefficient.SPEARMAN, Coefficient.KENDALL):
        value = defined(coefficient, x, y, flip=False)
        assert correlation(np.exp(x), y**3, coefficient=coefficient, flip=False) == value


def test_flipping_doubles_the_points():
    x, y = flipped([1, -2, 0], [3, 4, 5])
    assert x.tolist() == [1, -2, 0, -1, 2, 0]
    assert y.tolist() == [3, 4, 5, -3, -4, -5]


def test_exactly_zero_is_not_better_whichever_model_is_the_base():
    """Points (0, 1), (2, 3), (0, -1), (-2, -3): one better by both, one by the second only, two by neither."""
    assert matthews(*flipped([0, 2], [1, 3])) == pytest.approx((1 * 2 - 1 * 0) / math.sqrt(2 * 1 * 3 * 2))


def test_perfect_agreement_is_one_to_the_last_digit():
    x = rng().normal(size=101)
    for coefficient, function in FUNCTIONS.items():
        assert function(x, x) == 1, coefficient
    assert pearson(x, -3 * x) == pytest.approx(-1, abs=1e-15)
    assert spearman(x, -x) == kendall_tau_b(x, -x) == -1


@pytest.mark.parametrize("size", [1e-300, 1e-5, 1, 1e8, 1e300])
def test_neither_large_nor_small_numbers_lose_digits(size):
    x, y = np.array(ANSCOMBE)
    assert pearson(size * x, y) == pytest.approx(pearson(x, y), abs=1e-12)
    assert pearson(x + 1e9, y) == pytest.approx(pearson(x, y), abs=1e-6)


@pytest.mark.parametrize("count", [3, 5, 10, 50])
def test_small_steps_between_large_numbers_are_those_without_the_large_number(count):
    """Steps of 2 at 1e16 are exact in floating point; scipy gives 1.0 for five of them."""
    steps, y = 2.0 * np.arange(count), rng(1).normal(size=count)
    assert pearson(1e16 + steps, np.arange(count)) == pytest.approx(1, abs=1e-15)
    assert pearson(1e16 + steps, y) == pytest.approx(scipy.stats.pearsonr(steps, y).statistic, abs=1e-12)
    if count > 5:
        large, small = (
            evaluation_interval(x, y, coefficient=Coefficient.PEARSON, flip=False, resamples=300, rng=rng())
            for x in (1e16 + steps, steps)
        )
        assert [large.low, large.high] == pytest.approx([small.low, small.high], abs=1e-12)


def test_kendall_of_many_points_with_ties_is_that_of_scipy():
    x = rng().normal(size=100_000)
    y = np.round(x + rng(1).normal(size=100_000), 1)
    assert kendall_tau_b(x, y) == pytest.approx(scipy.stats.kendalltau(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "coefficient", "reason"),
    [
        ([0.1] * 3, [1, 2, 3], Coefficient.PEARSON, UndefinedReason.ALL_VALUES_EQUAL),
        ([1, 2, 3], [0.1] * 3, Coefficient.SPEARMAN, UndefinedReason.ALL_VALUES_EQUAL),
        ([1, 2, 3], [0.1] * 3, Coefficient.KENDALL, UndefinedReason.ALL_VALUES_EQUAL),
        ([1, 2, 3], [-1, 0, 1], Coefficient.MATTHEWS, UndefinedReason.ONE_SIGN_ONLY),
        ([1, -2, 3], [-1, 0, -2], Coefficient.MATTHEWS, UndefinedReason.ONE_SIGN_ONLY),
        ([], [], Coefficient.PEARSON, UndefinedReason.TOO_FEW_POINTS),
        ([1], [1], Coefficient.KENDALL, UndefinedReason.TOO_FEW_POINTS),
    ],
)
def test_where_a_coefficient_is_undefined_the_error_says_why(x, y, coefficient, reason):
    for figure in (
        lambda: FUNCTIONS[coefficient](x, y),
        lambda: evaluation_interval(x, y, coefficient=coefficient, flip=False, resamples=100, rng=rng()),
    ):
        with pytest.raises(UndefinedFigureError) as refused:
            figure()
        assert refused.value.reason == reason


@pytest.mark.parametrize("coefficient", list(Coefficient))
def test_a_metric_without_differences_has_no_correlation_by_its_mirror_image(coefficient):
    """Pearson's was .93 for these: the cosine of the people's gains and a constant."""
    people, metric = [2.0, 3.0, 2.5, 5.0, 1.5], [0.4] * 5
    for x, y in ((people, metric), (metric, people)):
        with pytest.raises(UndefinedFigureError) as refused:
            correlation(x, y, coefficient=coefficient, flip=True)
        assert refused.value.reason == UndefinedReason.SAME_IN_ALL_EVALUATIONS


@given(evaluations, st.sampled_from(list(Coefficient)), st.booleans(), st.integers(0, 5))
def test_a_weight_is_how_often_an_evaluation_comes(points, coefficient, flip, seed):
    x, y = points
    times = rng(seed).integers(0, 4, size=len(x))
    assume(times.sum() > 1)
    assume((times > 0).sum() > 1)
    value = defined(coefficient, np.repeat(x, times), np.repeat(y, times), flip=flip)
    assert correlation(x, y, coefficient=coefficient, flip=flip, weights=times) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("coefficient", list(Coefficient))
def test_one_evaluation_and_its_mirror_image_are_no_correlation(coefficient):
    with pytest.raises(UndefinedFigureError) as refused:
        correlation([2], [3], coefficient=coefficient, flip=True)
    assert refused.value.reason == UndefinedReason.TOO_FEW_POINTS


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [([1, 2], [1], "equally many"), ([1, np.nan, 2], [1, 2, 3], "Point 1"), ([[1]], [[1]], "lists")],
)
def test_what_are_no_points_is_refused(x, y, message):
    for function in FUNCTIONS.values():
        with pytest.raises(ValueError, match=message):
            function(x, y)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("coefficient", list(Coefficient))
def test_intervals_are_those_of_drawing_the_evaluations_one_by_one(coefficient, flip):
    """The same draws, each put through the plain coefficient: ties, constants and flips are all in it."""
    x = np.array([2.7, 3, 2.2, 2.7, -0.3, 1.6, 3.1, 4.3, -0.8, 2.7, -0.3, -1.7])
    y = np.array([2.61, 0.84, 1.37, 1.96, 1.28, 0, -1.22, -0.44, 1.16, 0.2, -0.33, -0.39])

    interval = evaluation_interval(x, y, coefficient=coefficient, flip=flip, resamples=400, rng=rng(3))

    drawn = rng(3).integers(0, 12, size=(400, 12))
    plain = []
    for places in drawn:
        try:
            plain.append(correlation(x[places], y[places], coefficient=coefficient, flip=flip))
        except UndefinedFigureError:
            continue
    assert len(plain) >= 396
    assert [interval.low, interval.high] == pytest.approx(list(np.quantile(plain, [0.025, 0.975])), abs=1e-9)


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    first, again, other = (
        evaluation_interval(*ANSCOMBE, coefficient=Coefficient.PEARSON, flip=True, resamples=500, rng=rng(seed))
        for seed in (5, 5, 6)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1, 2], [1, 3], UndefinedReason.RESAMPLES_UNDEFINED),
        (list(range(30)), list(range(30)), UndefinedReason.NO_VARIATION),
    ],
)
def test_an_interval_that_would_claim_certainty_is_undefined(x, y, reason):
    with pytest.raises(UndefinedFigureError) as refused:
        evaluation_interval(x, y, coefficient=Coefficient.SPEARMAN, flip=False, resamples=300, rng=rng())
    assert refused.value.reason == reason


def test_equal_values_share_the_mean_of_their_ranks():
    assert ranks([3, 1, 3, 2]).tolist() == [3.5, 1, 3.5, 2]
    assert model_ranks([3, 1, 3, 2]).tolist() == [1.5, 4, 1.5, 3]


@given(evaluations)
def test_competition_ranks_are_those_of_scipy(points):
    x, y = points
    theirs = [scipy.stats.rankdata(-values, method="min") for values in (x, y)]
    assert [model_ranks(values, ties=TiedRanks.COMPETITION).tolist() for values in (x, y)] == [
        r.tolist() for r in theirs
    ]
    assume(all(len(set(ranks)) > 1 for ranks in theirs))
    expected = scipy.stats.pearsonr(*theirs).statistic
    assert rank_agreement(x, y, ties=TiedRanks.COMPETITION) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("scores", [[1, np.nan, 2], [[1, 2]], 1])
def test_what_is_no_score_of_each_model_has_no_ranks(scores):
    with pytest.raises(ValueError, match="One score for each model"):
        model_ranks(scores)


@given(evaluations)
def test_ranks_agree_as_scores_do(points):
    x, y = points
    value = defined(Coefficient.SPEARMAN, x, y, flip=False)
    assert rank_agreement(x, y) == value
    assert pearson(model_ranks(x), model_ranks(y)) == pytest.approx(value, abs=1e-12)
