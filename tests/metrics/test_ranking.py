"""Bradley-Terry strengths and what they are worth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crosslens_metrics.ranking import (
    RankingOutcomes,
    StrengthBound,
    StrengthVariances,
    bounds,
    bradley_terry,
    components,
    images_to_separate,
    prior,
    well_linked,
    win_table,
)
from crosslens_metrics.sampling.intervals import Interval, student_interval, student_quantile
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tools.coverage.simulations import judged_by_raters_who_like_a_model, leads_of

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


def lead_of(outcomes: RankingOutcomes, first: int, second: int, *, models: int = 3) -> tuple[float, Interval, Interval]:
    """With its intervals, with these raters and with others."""
    strengths = bradley_terry(win_table(outcomes, n_models=models))
    variances = StrengthVariances(outcomes, strengths)
    contrast = np.eye(models)[first] - np.eye(models)[second]
    lead = float(contrast @ strengths)
    these = student_interval(lead, *variances.with_these_raters(contrast))
    others = these
    if len(outcomes.rater):
        others = student_interval(lead, *variances.with_other_raters(contrast))
    return lead, these, others


def test_known_strengths_are_found_and_their_intervals_hold_them():
    known = [0.6, 0.2, -0.8]
    outcomes = a_season(images=2_000, strengths=known)

    # A tenth of halves draws strengths together by about a tenth.
    assert bradley_terry(win_table(outcomes, n_models=3)).tolist() == pytest.approx(known, abs=0.12)
    _, lead, _ = lead_of(outcomes, 0, 2)
    assert lead.holds(1.4 * 0.9)
    assert lead.width < 0.2


def test_of_two_models_the_interval_is_that_of_the_log_of_the_odds():
    rows = [(image, 0, 1, -1 if image < 30 else 1) for image in range(40)]
    lead, interval, _ = lead_of(outcomes_of(rows), 0, 1, models=2)
    error = math.sqrt(1 / 30 + 1 / 10) * math.sqrt(40 / 39)
    assert interval.width / 2 == pytest.approx(error * float(student_quantile(39)), rel=1e-4)
    assert lead == pytest.approx(math.log(3), abs=1e-6)


def test_images_that_decide_several_comparisons_alike_widen_the_intervals():
    coins = np.random.default_rng(0).choice([-1, 1], size=400)
    pairs = [(0, 1), (0, 2), (1, 2)]
    shared = outcomes_of([(image, *pair, int(coin)) for image, coin in enumerate(coins) for pair in pairs])
    as_if_apart = RankingOutcomes(np.arange(len(shared.image)), shared.base, shared.test, shared.outcome)

    widths = [lead_of(outcomes, 0, 2)[1].width for outcomes in (as_if_apart, shared)]

    assert widths[1] > 1.3 * widths[0]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("models", "images", "raters", "liking"), [(4, 100, 5, 0), (4, 100, 5, 10), (8, 300, 10, 6), (4, 100, 3, 6)]
)
def test_leads_of_equal_models_hold_with_other_raters_and_not_with_these_alone(models, images, raters, liking):
    rng = np.random.default_rng([3, models, raters, liking])
    held, held_by_these = [], []
    for _ in range(100):
        outcomes = judged_by_raters_who_like_a_model(rng, models=models, images=images, raters=raters, liking=liking)
        for lead in leads_of(outcomes, models=models):
            these, others = lead.intervals
            held.append(others.holds(0))
            held_by_these.append(these.holds(0))
    # The leads of one run are not independent.
    assert np.mean(held) > 0.93
    if liking:
        assert np.mean(held_by_these) < 0.7


@pytest.mark.parametrize(
    ("wins", "linked"),
    [
        ([[0, 9, 0], [5, 0, 30], [0, 5, 0]], [0, 0, 0]),
        ([[0, 9, 0], [5, 0, 30], [0, 4.5, 0]], [0, 0, 1]),
        # By way of the third, four wins more.
        ([[0, 1, 4], [9, 0, 0], [0, 4, 0]], [0, 0, 1]),
    ],
)
def test_models_are_linked_by_as_many_wins_as_would_have_to_be_missing(wins, linked):
    assert well_linked(wins).tolist() == linked


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


def test_as_many_images_as_are_said_to_separate_two_models_do_with_a_chance_of_80_percent():
    outcomes = a_season(images=300, strengths=[0.1, 0.0, -0.1], seed=2)
    strengths = bradley_terry(win_table(outcomes, n_models=3))
    first, second = (int(model) for model in np.argsort(-strengths)[:2])
    difference, now, _ = lead_of(outcomes, first, second)
    assert now.holds(0)

    times = round(images_to_separate(difference, now, images=300) / 300)

    repeated = RankingOutcomes(
        np.concatenate([outcomes.image + 300 * copy for copy in range(times)]),
        np.tile(outcomes.base, times),
        np.tile(outcomes.test, times),
        np.tile(outcomes.outcome, times),
    )
    # Of samples whose interval would end at zero on the average, half are separable; where it ends here, 80% are.
    end = 0.8416 / (1.96 + 0.8416) * difference
    assert lead_of(repeated, first, second)[1].low == pytest.approx(end, abs=0.1 * difference)


def test_images_by_the_same_raters_take_off_only_their_own_part_of_the_width():
    these, others = Interval(0.2, 0.8), Interval(0.1, 0.9)
    # Half the widths are 0.3 and 0.4: what raters add is 0.16 − 0.09. 2.0435 is ((1.96 + 0.8416) / 1.96)².
    needed = images_to_separate(0.5, these, images=100, other_raters=others)
    assert needed == math.ceil(2.0435 * 100 * 0.09 / (0.25 - 2.0435 * 0.07))
    assert images_to_separate(0.5, these, images=100, other_raters=these) == images_to_separate(0.5, these, images=100)
    with pytest.raises(UndefinedFigureError) as refused:
        images_to_separate(0.37, these, images=100, other_raters=others)
    assert refused.value.reason == UndefinedReason.MORE_RATERS


def test_no_difference_is_separated_by_no_number_of_images():
    with pytest.raises(UndefinedFigureError) as refused:
        images_to_separate(0.0, Interval(-1, 1), images=100)
    assert refused.value.reason == UndefinedReason.NO_DIFFERENCE
