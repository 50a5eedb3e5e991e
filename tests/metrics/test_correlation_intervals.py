"""Intervals and tests of correlations over models: their coverage, what they refuse, and numbers worked out by hand."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy

from crosslens_metrics.correlation_intervals import (
    ComparedModels,
    correlation_difference,
    correlation_interval,
    leave_one_out,
)
from crosslens_metrics.correlation_permutations import permutation_test
from crosslens_metrics.correlations import Coefficient, correlation
from crosslens_metrics.sampling.intervals import LEVEL
from crosslens_metrics.sampling.significance import holm
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tests.metrics.test_coverage_of_intervals import say
from tools.coverage.simulations import (
    MeasuredCoverage,
    all_pairs,
    bootstrap_over_evaluations,
    simulated,
    true_correlation,
)

PEARSON: dict[str, Any] = {"coefficient": Coefficient.PEARSON, "flip": True}


@pytest.mark.parametrize("flip", [True, False])
@pytest.mark.parametrize("coefficient", list(Coefficient))
def test_the_interval_is_that_of_leaving_out_each_model(coefficient, flip):
    found = simulated(6, 3, rho=0.6, shared=0.5, rng=np.random.default_rng(4))
    interval = correlation_interval(found.without(coefficient=coefficient, flip=flip))

    how: dict[str, Any] = {"coefficient": coefficient, "flip": flip}
    z = math.atanh(correlation(found.people, found.metric, **how))
    left_out = []
    for number in range(6):
        stays = [
            f"m{number}" not in pair for pair in zip(found.compared.base, found.compared.test, strict=True)
        ]  # fmt: skip
        left_out.append(math.atanh(correlation(found.people[stays], found.metric[stays], **how)))
    half = scipy.stats.t.ppf(0.975, 5) * math.sqrt(5 * np.var(left_out))
    assert [interval.low, interval.high] == pytest.approx([math.tanh(z - half), math.tanh(z + half)])


def test_golden_numbers_of_four_models_in_two_languages():
    """Worked out apart from this code, with numpy alone; Student's quantile for 3 degrees of freedom is 3.182446."""
    found = all_pairs(np.array([[0.0, 1, 3, 4], [0, 2, 1, 5]]), np.array([[0.0, 2, 1, 5], [1, 0, 3, 4]]))
    interval = correlation_interval(found.without(**PEARSON))
    assert [interval.low, interval.high] == pytest.approx([-0.964305, 0.998547], abs=1e-6)
    test = permutation_test(found.people, found.metric, found.compared, **PEARSON, rng=np.random.default_rng(0))
    assert test.p == pytest.approx(8 / 24)
    assert (test.permutations, test.is_exact) == (24, True)


def test_of_two_models_languages_are_left_out_and_of_three_models_in_one_language_none_can_be():
    rng = np.random.default_rng(2)
    pair = simulated(2, 9, rho=0.7, shared=0.2, rng=rng)
    assert pair.compared.design.words.startswith("generalises to other languages like these, with these 2 models (jack")
    assert len(pair.without(**PEARSON).left_out) == 9
    several = simulated(5, 3, rho=0.7, shared=0.2, rng=rng)
    assert several.compared.design.words.startswith("generalises to other models like these, with these 3 languages")
    for models, languages, reason in (
        (2, 1, UndefinedReason.TOO_FEW_POINTS), (2, 2, UndefinedReason.UNIT_NEEDED), (3, 1, UndefinedReason.UNIT_NEEDED)
    ):  # fmt: skip
        with pytest.raises(UndefinedFigureError) as refused:
            simulated(models, languages, rho=0.7, shared=0.2, rng=rng).without(**PEARSON)
        assert refused.value.reason == reason


def test_one_pair_twice_in_one_language_is_too_few_models():
    twice = ComparedModels(["a", "a", "b"], ["b", "b", "a"], ["de"] * 3)
    with pytest.raises(UndefinedFigureError) as refused:
        leave_one_out([1, 2, 3], [2, 1, 5], twice, **PEARSON)
    assert refused.value.reason == UndefinedReason.TOO_FEW_MODELS


@pytest.mark.parametrize("coefficient", list(Coefficient))
def test_exact_agreement_is_no_certainty(coefficient):
    scores = np.array([[0.0, 1, 3, 4], [0, 2, 1, 5]])
    found = all_pairs(scores, scores)
    with pytest.raises(UndefinedFigureError) as refused:
        found.without(coefficient=coefficient, flip=True)
    assert refused.value.reason == UndefinedReason.EXACT_AGREEMENT


def test_weights_are_how_often_evaluations_count_in_the_interval_too():
    found = simulated(5, 3, rho=0.5, shared=0.5, rng=np.random.default_rng(5))
    times = np.arange(len(found.people)) % 3 + 1
    places = np.repeat(np.arange(len(times)), times)
    for coefficient in Coefficient:
        weighted = found.without(coefficient=coefficient, flip=True, weights=times)
        repeated = leave_one_out(
            found.people[places], found.metric[places], found.compared.of(places), coefficient=coefficient, flip=True
        )
        assert weighted.left_out == pytest.approx(repeated.left_out)


def test_models_change_places_in_all_languages_alike():
    found = simulated(5, 4, rho=0.8, shared=0.5, rng=np.random.default_rng(6))
    scores = np.zeros((4, 5))
    for language in range(4):
        # Model 0 is the base of the first four pairs of each language.
        scores[language, 1:] = found.metric[10 * language : 10 * language + 4]
    for coefficient in Coefficient:
        how: dict[str, Any] = {"coefficient": coefficient, "flip": True}
        seen = abs(correlation(found.people, found.metric, **how))
        changed = [all_pairs(scores, scores[:, list(order)]).metric for order in permutations(range(5))]
        hits = [abs(correlation(found.people, metric, **how)) >= seen - 1e-9 for metric in changed]
        test = permutation_test(found.people, found.metric, found.compared, **how, rng=np.random.default_rng(0))
        assert test.permutations == 120
        assert test.p == pytest.approx(np.mean(hits))


def test_the_smallest_p_is_one_by_the_number_of_ways():
    rng = np.random.default_rng(7)
    for models, permutations_, smallest, is_exact in ((4, 24, 1 / 24, True), (8, 9_999, 1e-4, False)):
        quality = rng.standard_normal((3, models))
        found = all_pairs(quality, quality + 0.001 * rng.standard_normal(quality.shape))
        test = permutation_test(found.people, found.metric, found.compared, **PEARSON, rng=np.random.default_rng(0))
        assert (test.permutations, test.is_exact) == (permutations_, is_exact)
        assert test.p == pytest.approx(smallest) == test.smallest


def test_models_change_places_only_where_they_were_compared_in_the_same_languages_with_the_same_others():
    compared = ComparedModels(["a", "a", "b", "a"], ["b", "c", "c", "b"], ["de", "de", "de", "fr"])
    test = permutation_test([1, 3, 2, 1], [1, 2, 1, 3], compared, **PEARSON, rng=np.random.default_rng(0))
    assert test.permutations == 2, "Only a and b are in French."
    against_itself = ComparedModels(["a", "b", "a"], ["b", "a", "c"], ["de"] * 3)
    test = permutation_test([1, 2, 1], [1, 1, 0], against_itself, **PEARSON, rng=np.random.default_rng(0))
    assert test.p == 1, "Its differences leave no model a score."
    chain = ComparedModels(["a", "b"], ["b", "c"], ["de", "fr"])
    with pytest.raises(UndefinedFigureError) as refused:
        permutation_test([1, 2], [1, 3], chain, **PEARSON, rng=np.random.default_rng(0))
    assert refused.value.reason == UndefinedReason.NOT_EXCHANGEABLE


def test_a_metric_is_not_nearer_to_people_than_itself_and_nearer_than_noise():
    rng = np.random.default_rng(8)
    quality = rng.standard_normal((6, 8))
    good, bad = (all_pairs(quality, size * rng.standard_normal(quality.shape) + quality) for size in (0.3, 2.5))
    one, other = (found.without(**PEARSON) for found in (good, bad))
    difference, turned = correlation_difference(one, other), correlation_difference(other, one)
    assert difference.degrees_of_freedom == 7
    assert difference.interval.low > 0
    assert difference.p < 0.05
    assert [difference.z, difference.p] == pytest.approx([-turned.z, turned.p])
    assert difference.p == pytest.approx(
        2 * scipy.stats.t.sf(difference.z / (difference.interval.width / 2 / scipy.stats.t.ppf(0.975, 7)), 7)
    )
    with pytest.raises(UndefinedFigureError) as refused:
        correlation_difference(one, one)
    assert refused.value.reason == UndefinedReason.NO_VARIATION
    assert holm([difference.p, 0.5])[0] == pytest.approx(2 * difference.p)


CASES = [(4, 4), (4, 12), (4, 36), (8, 4), (8, 12), (8, 36)]
SHARED = 0.5
RUNS, RUNS_OF_CONTROL = 400, 100


@pytest.mark.long(reason="simulates hundreds of studies")
@pytest.mark.parametrize("flip", [True, False])
@pytest.mark.parametrize(("models", "languages"), CASES)
def test_the_interval_over_models_holds_the_truth_where_that_over_evaluations_does_not(models, languages, flip):
    rng = np.random.default_rng([19, models, languages])
    for rho in (0.0, 0.7):
        truth = true_correlation(rho, Coefficient.PEARSON)
        held, held_by_evaluations = [], []
        for run in range(RUNS):
            found = simulated(models, languages, rho=rho, shared=SHARED, rng=rng)
            interval = correlation_interval(found.without(coefficient=Coefficient.PEARSON, flip=flip))
            held.append(interval.holds(truth))
            if run < RUNS_OF_CONTROL:
                held_by_evaluations.append(bootstrap_over_evaluations(found, rng).holds(truth))
        coverage, control = MeasuredCoverage.of(held), MeasuredCoverage.of(held_by_evaluations)
        say(
            f"{models} models, {languages} languages, correlation {truth:.2f}, flip {flip}: "
            f"{100 * coverage.share:.1f}% ± {100 * coverage.error:.1f}; over evaluations {100 * control.share:.1f}%"
        )
        assert not coverage.is_too_low
        assert control.is_too_low


@pytest.mark.long(reason="simulates hundreds of studies")
@pytest.mark.parametrize("coefficient", [Coefficient.SPEARMAN, Coefficient.KENDALL, Coefficient.MATTHEWS])
@pytest.mark.parametrize(("models", "languages"), [(4, 12), (8, 4)])
def test_the_interval_of_ranks_and_signs_holds_the_truth_or_is_refused(models, languages, coefficient):
    rng = np.random.default_rng([20, models, languages])
    truth = true_correlation(0.7, coefficient)
    held = []
    for _ in range(RUNS):
        found = simulated(models, languages, rho=0.7, shared=SHARED, rng=rng)
        try:
            held.append(correlation_interval(found.without(coefficient=coefficient, flip=True)).holds(truth))
        except UndefinedFigureError:
            continue
    coverage = MeasuredCoverage.of(held)
    say(
        f"{coefficient}, {models} models, {languages} languages: {100 * coverage.share:.1f}%, "
        f"{RUNS - len(held)} refused"
    )
    assert not coverage.is_too_low


@pytest.mark.long(reason="simulates hundreds of studies")
@pytest.mark.parametrize(("models", "languages"), [(4, 4), (5, 12), (6, 4)])
def test_a_metric_without_any_correlation_is_rarely_found_to_have_one(models, languages):
    rng = np.random.default_rng([21, models, languages])
    runs, level = RUNS, 1 - LEVEL
    false_by_models, false_by_evaluations = 0, 0
    for _ in range(runs):
        found = simulated(models, languages, rho=0.0, shared=SHARED, rng=rng)
        test = permutation_test(found.people, found.metric, found.compared, **PEARSON, rng=rng)
        false_by_models += test.p <= level
        false_by_evaluations += not bootstrap_over_evaluations(found, rng).holds(0)
    error = 3 * math.sqrt(level * LEVEL / runs)
    say(
        f"{models} models, {languages} languages, no correlation: found in {100 * false_by_models / runs:.1f}%, "
        f"over evaluations {100 * false_by_evaluations / runs:.1f}%"
    )
    assert false_by_models / runs <= level + error
    assert false_by_evaluations / runs > level + error
