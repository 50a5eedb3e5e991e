"""Kappas against what their authors printed, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest

from crosslens_metrics.agreement import alpha_of_ratings
from crosslens_metrics.kappa import cohen_kappa, fleiss_kappa
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

COHEN = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
"""200 units by two judges into three categories: Cohen (1960)."""

DIAGNOSES = [
    *([0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0]),
    *([0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0]),
    *([0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0]),
    *([0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0]),
    *([1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6]),
]
"""30 patients by six psychiatrists each into five categories: Fleiss (1971), table 1."""

FOURTEEN_RATERS = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]
"""The example that is used most: ten units, kappa 0.210."""


def listed(table):
    cells = [(row, column) for row, line in enumerate(table) for column, times in enumerate(line) for _ in range(times)]
    return np.array(cells).T


def test_cohens_example_gives_the_published_kappa():
    assert cohen_kappa(*listed(COHEN)) == pytest.approx(0.492, abs=0.0005)


@pytest.mark.parametrize(("table", "published"), [(DIAGNOSES, 0.430), (FOURTEEN_RATERS, 0.210)])
def test_published_examples_give_fleiss_kappa(table, published):
    assert fleiss_kappa(table) == pytest.approx(published, abs=0.0005)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_is_what_the_definition_says_pair_by_pair(weights):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 5, size=60)
    second = np.clip(first + rng.integers(-1, 3, size=60), 0, 4)

    def cost(one, other):
        return {"none": float(one != other), "linear": abs(one - other), "quadratic": (one - other) ** 2}[weights]

    observed = np.mean([cost(one, other) for one, other in zip(first, second, strict=True)])
    by_chance = np.mean([cost(one, other) for one in first for other in second])
    assert cohen_kappa(first, second, weights=weights, scale=range(5)) == pytest.approx(1 - observed / by_chance)


def test_quadratic_weights_make_it_a_correlation_that_minds_the_means():
    """Krippendorff (1970): 2 cov / (var + var + (difference of means)²)."""
    rng = np.random.default_rng(8)
    first = rng.integers(0, 7, size=200)
    second = np.clip(first + rng.integers(-2, 4, size=200), 0, 6)
    moments = np.cov(first, second, bias=True)

    expected = 2 * moments[0, 1] / (moments.trace() + (first.mean() - second.mean()) ** 2)
    assert cohen_kappa(first, second, weights="quadratic", scale=range(7)) == pytest.approx(expected)


def test_names_do_not_matter_nor_who_is_first():
    first, second = listed(COHEN)
    words = np.array(["yes", "no", "perhaps"])

    assert cohen_kappa(words[first], words[second]) == pytest.approx(cohen_kappa(first, second))
    for weights in ("none", "linear", "quadratic"):
        assert cohen_kappa(first, second, weights=weights) == cohen_kappa(second, first, weights=weights)


def test_with_two_levels_weights_change_nothing():
    first, second = [0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 0, 0]
    assert len({cohen_kappa(first, second, weights=weights) for weights in ("none", "linear", "quadratic")}) == 1


def test_a_level_that_nobody_chose_is_a_step_where_the_scale_names_it():
    first, second = ["low", "low", "mid", "high"], ["low", "mid", "mid", "high"]
    scale = ["low", "mid", "upper", "high"]

    kappas = [cohen_kappa(first, second, weights="linear", scale=levels) for levels in (scale, ["low", "mid", "high"])]

    assert kappas[0] != pytest.approx(kappas[1], abs=0.01)
    assert cohen_kappa(first, second, scale=scale) == pytest.approx(cohen_kappa(first, second))


def test_full_agreement_is_one_and_full_disagreement_below_zero():
    assert cohen_kappa([1, 2, 3], [1, 2, 3]) == 1
    assert cohen_kappa([1, 2, 1, 2], [2, 1, 2, 1]) == -1
    assert fleiss_kappa([[3, 0], [0, 3]]) == 1


def test_fleiss_kappa_is_near_nominal_alpha_where_there_are_many_units():
    rng = np.random.default_rng(1)
    truth = np.repeat(rng.integers(0, 3, size=4_000), 3)
    given = np.where(rng.random(12_000) < 0.4, rng.integers(0, 3, size=12_000), truth)
    units = np.repeat(np.arange(4_000), 3)
    counts = np.bincount(units * 3 + given, minlength=12_000).reshape(4_000, 3)

    assert fleiss_kappa(counts) == pytest.approx(alpha_of_ratings(units, given, level="nominal"), abs=0.001)


@pytest.mark.parametrize(
    ("figure", "reason"),
    [
        (lambda: cohen_kappa([], []), UndefinedReason.NO_PAIR_OF_RATINGS),
        (lambda: cohen_kappa([1, 1], [1, 1]), UndefinedReason.ALL_RATINGS_EQUAL),
        (lambda: fleiss_kappa(np.zeros((0, 3))), UndefinedReason.NO_PAIR_OF_RATINGS),
        (lambda: fleiss_kappa([[1, 0], [0, 1]]), UndefinedReason.NO_PAIR_OF_RATINGS),
        (lambda: fleiss_kappa([[3, 0], [3, 0]]), UndefinedReason.ALL_RATINGS_EQUAL),
    ],
)
def test_where_kappa_is_undefined_the_error_says_why(figure, reason):
    with pytest.raises(UndefinedFigureError) as refused:
        figure()
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        (lambda: cohen_kappa([1, 2], [1]), "equally many"),
        (lambda: cohen_kappa([1.0, np.nan], [1.0, 2.0]), "missing"),
        (lambda: cohen_kappa(["a", None], ["a", "b"]), "missing"),
        (lambda: cohen_kappa([1, 9], [1, 2], scale=[1, 2, 3]), "9 is not on the scale"),
        (lambda: cohen_kappa([1, 2], [1, 2], scale=[1, 2, 2]), "twice"),
        (lambda: cohen_kappa([1, 2], [1, 2], weights="cubic"), "cubic"),  # type: ignore[arg-type]
        (lambda: fleiss_kappa([[3, 0], [1, 1]]), "Unit 1 has 2 ratings"),
        (lambda: fleiss_kappa([[3, 0], [4, -1]]), "whole number"),
        (lambda: fleiss_kappa([[1.5, 0.5], [1.0, 1.0]]), "whole number"),
        (lambda: fleiss_kappa([[1.0, np.nan]]), "whole number"),
        (lambda: fleiss_kappa([1, 2]), "table"),
    ],
)
def test_what_is_no_table_of_ratings_is_refused(figure, message):
    with pytest.raises(ValueError, match=message):
        figure()
