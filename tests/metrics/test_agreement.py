"""Krippendorff's alpha against its published example, and what must not change it."""

from __future__ import annotations

import time
from itertools import permutations

import krippendorff
import numpy as np
import pytest

from crosslens_metrics.agreement import alpha_interval, alpha_of_ratings, krippendorff_alpha
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tests.memory import peak_of

NONE = np.nan
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
)
"""Four observers and twelve units: Krippendorff (2011), section C."""


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example_gives_the_published_alpha(level, published):
    assert krippendorff_alpha(PUBLISHED, level=level) == pytest.approx(published, abs=0.0005)


def test_ordinal_alpha_only_looks_at_the_order_of_the_values():
    recoded = np.exp(PUBLISHED) - 7

    ordinal = [krippendorff_alpha(table, level="ordinal") for table in (PUBLISHED, recoded)]
    interval = [krippendorff_alpha(table, level="interval") for table in (PUBLISHED, recoded)]

    assert ordinal[0] == pytest.approx(ordinal[1])
    assert interval[0] != pytest.approx(interval[1], abs=0.01)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_does_not_ask_who_rated_nor_in_which_order(level):
    rng = np.random.default_rng(4)
    shuffled = rng.permutation(rng.permutation(PUBLISHED, axis=0), axis=1)
    swapped_within_units = rng.permuted(PUBLISHED, axis=0)

    alpha = krippendorff_alpha(PUBLISHED, level=level)

    assert krippendorff_alpha(shuffled, level=level) == pytest.approx(alpha)
    assert krippendorff_alpha(swapped_within_units, level=level) == pytest.approx(alpha)


def test_units_with_one_rating_change_nothing():
    alone = np.full((4, 3), NONE)
    alone[1] = [1, 4, 5]

    with_them = krippendorff_alpha(np.hstack([PUBLISHED, alone]), level="ordinal")

    assert with_them == pytest.approx(krippendorff_alpha(PUBLISHED, level="ordinal"))


def test_full_agreement_is_one_and_disagreement_throughout_is_below_zero():
    assert krippendorff_alpha([[1, 2, 3], [1, 2, 3]], level="ordinal") == 1
    assert krippendorff_alpha([[1, 2, 1, 2], [2, 1, 2, 1]], level="nominal") < -0.5


def test_alpha_of_ratings_at_random_is_near_zero():
    values = np.random.default_rng(0).integers(-3, 4, size=60_000)
    assert alpha_of_ratings(np.repeat(np.arange(20_000), 3), values, level="ordinal") == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, NONE], [NONE, 2]], UndefinedReason.NO_PAIR_OF_RATINGS),
        (np.full((3, 4), NONE), UndefinedReason.NO_PAIR_OF_RATINGS),
        (np.empty((0, 0)), UndefinedReason.NO_PAIR_OF_RATINGS),
        ([[0, 0, 5], [0, 0, NONE]], UndefinedReason.ALL_RATINGS_EQUAL),
    ],
)
def test_where_alpha_is_undefined_the_error_says_why(ratings, reason):
    for level in ("nominal", "ordinal", "interval"):
        with pytest.raises(UndefinedFigureError) as refused:
            krippendorff_alpha(ratings, level=level)
        assert refused.value.reason == reason


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_interval_equals_that_of_drawing_the_units_one_by_one():
    """Drawn by kinds or one by one, the distribution is the same, so the bounds agree to their own noise."""
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(80), 3)
    values = np.repeat(rng.integers(-3, 4, size=80), 3) + rng.integers(-1, 2, size=240)
    table = values.reshape(80, 3).T

    interval = alpha_interval(units, values, level="ordinal", resamples=10_000, rng=rng)
    one_by_one = [krippendorff_alpha(table[:, rng.integers(0, 80, size=80)], level="ordinal") for _ in range(1_000)]

    assert [interval.low, interval.high] == pytest.approx(list(np.quantile(one_by_one, [0.025, 0.975])), abs=0.015)
    assert interval.holds(alpha_of_ratings(units, values, level="ordinal"))


@pytest.mark.parametrize(
    ("units", "reason"),
    [([0, 0, 1, 1], UndefinedReason.RESAMPLES_UNDEFINED), ([0, 0, 0, 0], UndefinedReason.NO_VARIATION)],
)
def test_an_interval_of_too_few_units_is_undefined_rather_than_made_up(units, reason):
    with pytest.raises(UndefinedFigureError) as refused:
        alpha_interval(units, [1, 1, 1, 2], level="ordinal", resamples=200, rng=np.random.default_rng(0))
    assert refused.value.reason == reason


def test_a_hundred_thousand_ratings_take_no_time():
    units = np.repeat(np.arange(33_334), 3)
    values = np.random.default_rng(0).integers(-3, 4, size=len(units))
    started = time.process_time()
    alpha_of_ratings(units, values, level="ordinal")
    # Each with each, it would be minutes.
    assert time.process_time() - started < 5


def alpha_by_definition(ratings: np.ndarray, level: str) -> float:
    """Krippendorff (2011), section E, pair by pair."""
    given = [unit[~np.isnan(unit)] for unit in ratings.T]
    given = [unit for unit in given if len(unit) > 1]
    pool = np.sort(np.concatenate(given))

    def distance(one: float, other: float) -> float:
        if level == "nominal":
            return float(one != other)
        if level == "interval":
            return (one - other) ** 2
        low, high = min(one, other), max(one, other)
        between = ((pool >= low) & (pool <= high)).sum() - ((pool == low).sum() + (pool == high).sum()) / 2
        return float(between**2) if low != high else 0.0

    observed = sum(
        distance(one, other) / (len(unit) - 1) for unit in given for one, other in permutations(unit.tolist(), 2)
    ) / len(pool)
    expected = sum(distance(one, other) for one, other in permutations(pool.tolist(), 2))
    return 1 - observed / (expected / (len(pool) * (len(pool) - 1)))


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("levels", [2, 7, 101])
def test_alpha_is_what_the_definition_says_pair_by_pair(level, levels):
    rng = np.random.default_rng(levels)
    ratings = rng.integers(0, levels, size=(4, 15)) + rng.integers(0, 2, size=15)[None, :] * 1.5
    ratings[rng.random(ratings.shape) < 0.3] = NONE

    assert krippendorff_alpha(ratings, level=level) == pytest.approx(alpha_by_definition(ratings, level), abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("levels", [2, 5, 40])
def test_alpha_is_that_of_the_public_implementation(level, levels):
    rng = np.random.default_rng(levels)
    truth = rng.integers(0, levels, size=300)
    ratings = np.clip(truth + rng.integers(-2, 3, size=(5, 300)), 0, levels - 1).astype(float)
    ratings[rng.random(ratings.shape) < 0.4] = NONE

    theirs = krippendorff.alpha(reliability_data=ratings, level_of_measurement=level)
    assert krippendorff_alpha(ratings, level=level) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_large_values_lose_no_digits(level):
    assert krippendorff_alpha(PUBLISHED + 1e8, level=level) == pytest.approx(
        krippendorff_alpha(PUBLISHED, level=level), abs=1e-9
    )


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        (lambda: krippendorff_alpha([[1.0, 2.0, np.inf], [1.0, 2.0, 3.0]], level="interval"), "not finite"),
        (lambda: krippendorff_alpha([[1.0, 2.0], [1.0, 3.0]], level="ratio"), "interval, not 'ratio'"),  # type: ignore[arg-type]
        (lambda: krippendorff_alpha([1.0, 2.0], level="nominal"), "raters by units"),
        (lambda: alpha_of_ratings([1, 1, 2], [1.0, 2.0], level="nominal"), "A unit for each rating"),
    ],
)
def test_what_is_no_table_of_ratings_on_a_known_scale_is_refused(figure, message):
    with pytest.raises(ValueError, match=message):
        figure()


@pytest.mark.long(reason="300,000 ratings, whose memory is measured")
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_a_hundred_thousand_units_on_a_scale_of_101_levels_take_little_memory(level):
    rng = np.random.default_rng(0)
    units = np.tile(np.arange(100_000), 3)
    values = rng.integers(0, 101, size=300_000)
    alpha, peak = peak_of(lambda: alpha_of_ratings(units, values, level=level))
    assert alpha == pytest.approx(0, abs=0.02)
    assert peak < 100e6
