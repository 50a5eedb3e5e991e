"""Bradley-Terry strengths and what they are worth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crosslens_metrics.ranking import (
    RankingOutcomes,
    ResampledStrengths,
    StrengthBound,
    bounds,
    bradley_terry,
    components,
    images_to_separate,
    prior,
    resampled_strengths,
    win_table,
)
from crosslens_metrics.sampling.intervals import Interval, percentile_interval
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

BASEBALL = [
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
]
"""American League, eastern division, 1987: A. Agresti (2002), Categorical Data Analysis, table 10.10."""


def outcomes_of(rows: list[tuple[int, int, int, int]]) -> RankingOutcomes:
    image, base, test, outcome = (np.array(column) for column in zip(*rows, strict=True))
    return RankingOutcomes(image, base, test, outcome.astype(np.int8))


def a_season(*, images: int, strengths: list[float], seed: int = 0) -> RankingOutcomes:
    """Every model against every other on the same images, a tenth of which have no majority."""
    rng = np.random.default_rng(seed)
    rows = []
    for base in range(len(strengths)):
        for test in range(base + 1, len(strengths)):
            wins = rng.random(images) < 1 / (1 + math.exp(strengths[base] - strengths[test]))
            outcome = np.where(rng.random(images) < 0.1, 0, np.where(wins, 1, -1))
            rows += [(image, base, test, int(outcome[image])) for image in range(images)]
    return outcomes_of(rows)


def test_the_published_table_gives_the_published_strengths():
    strengths = bradley_terry(BASEBALL)
    assert (strengths - strengths[-1]).tolist() == pytest.approx(
        [1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0], abs=0.001
    )
    assert strengths.mean() == pytest.approx(0)


def test_of_two_models_the_lead_is_the_log_of_the_odds():
    strengths = bradley_terry([[0, 30], [10, 0]])
    assert strengths[0] - strengths[1] == pytest.approx(math.log(3))


def test_the_order_of_the_models_does_not_matter():
    order = [3, 0, 6, 5, 1, 4, 2]
    assert bradley_terry(np.array(BASEBALL)[np.ix_(order, order)]) == pytest.approx(bradley_terry(BASEBALL)[order])


def test_an_image_without_majority_is_half_a_win_to_each():
    table = win_table(outcomes_of([(0, 0, 1, 1), (1, 0, 1, 0), (1, 2, 1, -1)]), n_models=3)
    assert table.tolist() == [[0, 0.5, 0], [1.5, 0, 0], [0, 1, 0]]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_known_strengths_are_found_and_their_intervals_hold_them():
    known = [0.6, 0.2, -0.8]
    outcomes = a_season(images=2_000, strengths=known)

    resampled = resampled_strengths(outcomes, n_models=3, resamples=400, rng=np.random.default_rng(1))

    assert resampled.core().all()
    assert resampled.unfitted(resampled.core()) == 0
    # A tenth of halves draws strengths together by about a tenth.
    assert bradley_terry(win_table(outcomes, n_models=3)).tolist() == pytest.approx(known, abs=0.12)
    lead = percentile_interval(resampled.strengths[:, 0] - resampled.strengths[:, 2])
    assert lead.holds(1.4 * 0.9)
    assert lead.width < 0.2


@pytest.mark.long(reason="at least three others run each of its lines")
def test_images_that_decide_several_comparisons_alike_widen_the_intervals():
    coins = np.random.default_rng(0).choice([-1, 1], size=400)
    pairs = [(0, 1), (0, 2), (1, 2)]
    shared = outcomes_of([(image, *pair, int(coin)) for image, coin in enumerate(coins) for pair in pairs])
    as_if_apart = RankingOutcomes(np.arange(len(shared.image)), *_columns(shared))

    widths = [
        percentile_interval(
            resampled_strengths(outcomes, n_models=3, resamples=300, rng=np.random.default_rng(0)).strengths[:, 0]
        ).width
        for outcomes in (as_if_apart, shared)
    ]

    assert widths[1] > 1.3 * widths[0]


def _columns(outcomes: RankingOutcomes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return outcomes.base, outcomes.test, outcomes.outcome


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[0, 5, 0, 0], [5, 0, 0, 0], [0, 0, 0, 5], [0, 0, 5, 0]], UndefinedReason.MODELS_NOT_CONNECTED),
        ([[0, 5, 5], [0, 0, 3], [0, 2, 0]], UndefinedReason.MODEL_NEVER_LOSES),
        ([[0, 5, 5], [5, 0, 5], [0, 0, 0]], UndefinedReason.MODEL_NEVER_LOSES),
        (np.zeros((3, 3)), UndefinedReason.MODELS_NOT_CONNECTED),
    ],
)
def test_strengths_that_would_be_infinite_are_undefined(table, reason):
    with pytest.raises(UndefinedFigureError) as refused:
        bradley_terry(table)
    assert refused.value.reason == reason


@pytest.mark.parametrize("table", [[], np.zeros((0, 0))])
def test_a_table_without_models_is_undefined_and_one_that_is_not_square_refused(table):
    with pytest.raises(UndefinedFigureError) as refused:
        bradley_terry(table)
    assert refused.value.reason == UndefinedReason.NO_MODELS
    with pytest.raises(ValueError, match=r"not shape \(2, 3\)"):
        bradley_terry(np.ones((2, 3)))


def test_the_prior_is_nothing_where_judgements_bound_every_strength():
    assert not prior(BASEBALL).any()
    assert bounds(BASEBALL) == [StrengthBound.JUDGEMENTS] * 7


def test_what_the_prior_keeps_finite_is_told_model_by_model():
    """0 and 1 beat each other, 2 beats both and never lost, 3 never won; 4 and 5 were not compared with them."""
    wins = np.zeros((6, 6))
    wins[0, 1] = wins[1, 0] = wins[2, 0] = wins[2, 1] = wins[0, 3] = wins[4, 5] = 4
    first, second = components(wins)
    assert (first.tolist(), second.tolist()) == ([0, 1, 2, 3], [4, 5])
    table = wins[np.ix_(first, first)]
    assert bounds(table) == [
        StrengthBound.JUDGEMENTS,
        StrengthBound.JUDGEMENTS,
        StrengthBound.NEVER_LOST,
        StrengthBound.NEVER_WON,
    ]
    assert (prior(table) > 0).tolist() == [
        [False, False, True, True],
        [False, False, True, False],
        [True, True, False, False],
        [True, False, False, False],
    ]
    strengths = bradley_terry(table + prior(table))
    assert np.isfinite(strengths).all()
    assert strengths.argsort().tolist()[::3] == [3, 2]


def test_one_lucky_image_is_too_little_for_intervals():
    rows = [(image, 0, 1, -1) for image in range(30)] + [(30, 0, 1, 1)]
    assert bradley_terry(win_table(outcomes_of(rows), n_models=2)) is not None
    resampled = resampled_strengths(outcomes_of(rows), n_models=2, resamples=200, rng=np.random.default_rng(0))
    assert not resampled.core().any()
    with pytest.raises(UndefinedFigureError) as refused:
        resampled.of(np.array([True, True]))
    assert refused.value.reason == UndefinedReason.RESAMPLES_UNDEFINED


def grouped(*parts: tuple[int, list[int]]) -> ResampledStrengths:
    """So many resamples with the models in these groups."""
    groups = np.concatenate([np.tile(groups, (times, 1)) for times, groups in parts])
    return ResampledStrengths(np.zeros(groups.shape), groups)


@pytest.mark.parametrize(
    ("resampled", "core"),
    [
        (grouped((99, [0, 0, 0]), (1, [0, 0, 1])), [0, 1, 2]),
        (grouped((98, [0, 0, 0]), (2, [1, 1, 0])), [0, 1]),
        (grouped((50, [0, 0, 0, 0, 0]), (50, [1, 0, 1, 0, 1])), [0, 2, 4]),
        (grouped((50, [0, 0, 0, 0]), (50, [1, 0, 1, 0])), []),
        # Without 3, each of the last two is apart equally often: both go.
        (grouped((96, [0] * 6), (2, [1, 1, 1, 0, 1, 1]), (1, [1, 1, 1, 1, 0, 1]), (1, [0] * 5 + [1])), [0, 1, 2]),
    ],
)
def test_models_that_resamples_bound_are_those_whom_nearly_all_have_in_one_group(resampled, core):
    assert np.flatnonzero(resampled.core()).tolist() == core


def test_a_resample_in_several_groups_has_the_strengths_of_each():
    rows = [(image, 0, 1, -1 if image < 20 else 1) for image in range(30)] + [(30, 1, 2, 0)]
    resampled = resampled_strengths(outcomes_of(rows), n_models=3, resamples=200, rng=np.random.default_rng(0))
    alone = resampled.groups[:, 2] != resampled.groups[:, 1]
    assert 0.2 < alone.mean() < 0.5
    assert np.isfinite(resampled.strengths).all()
    assert resampled.core().tolist() == [True, True, False]
    pair = resampled.of(np.array([True, True, False]))
    assert percentile_interval(pair[:, 0] - pair[:, 1]).holds(math.log(2))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_as_many_images_as_are_said_to_separate_two_models_just_do():
    outcomes = a_season(images=300, strengths=[0.1, 0.0, -0.1], seed=2)
    strengths = bradley_terry(win_table(outcomes, n_models=3))
    first, second = np.argsort(-strengths)[:2]
    difference = strengths[first] - strengths[second]
    resampled = resampled_strengths(outcomes, n_models=3, resamples=300, rng=np.random.default_rng(0)).strengths
    now = percentile_interval(resampled[:, first] - resampled[:, second])
    assert now.holds(0)

    needed = images_to_separate(difference, now, images=300)

    times = round(needed / 300)
    repeated = RankingOutcomes(
        np.concatenate([outcomes.image + 300 * copy for copy in range(times)]),
        *(np.tile(column, times) for column in _columns(outcomes)),
    )
    then = resampled_strengths(repeated, n_models=3, resamples=300, rng=np.random.default_rng(1)).strengths
    low = percentile_interval(then[:, first] - then[:, second]).low
    assert low == pytest.approx(0, abs=0.2 * difference)


def test_no_difference_is_separated_by_no_number_of_images():
    with pytest.raises(UndefinedFigureError) as refused:
        images_to_separate(0.0, Interval(-1, 1), images=100)
    assert refused.value.reason == UndefinedReason.NO_DIFFERENCE
