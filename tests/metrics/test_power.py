"""What a design can see: against closed forms, against the intervals themselves, and with spreads from judgements."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from crosslens_metrics import gains, power
from crosslens_metrics.majorities import moved_outcomes
from crosslens_metrics.power import (
    PRIORS,
    JudgingDesign,
    MeasuredSpread,
    PreferenceSpread,
    expected_gain,
    measured_spread,
    power_of,
    trade_of,
)

NOISE_ALONE = PreferenceSpread(image=0, rater=0, rest=40)
ERROR = 3 * math.sqrt(0.25 / power.RUNS)
"""Three standard errors of a simulated chance."""


@pytest.mark.parametrize("mean", [0.0, 4.0, 10.0])
def test_without_image_or_rater_a_gain_and_its_power_have_a_closed_form(mean):
    better, worse = (NormalDist().cdf((sign * mean - 15) / 40) for sign in (1, -1))
    share = better - worse
    assert expected_gain(mean, NOISE_ALONE, replication=1) == pytest.approx(100 * share)
    of_three = [3 * one**2 * (1 - one) + one**3 for one in (better, worse)]
    assert expected_gain(mean, NOISE_ALONE, replication=3) == pytest.approx(100 * (of_three[0] - of_three[1]))

    error = math.sqrt((better + worse - share**2) / 500)
    simulated = power._Simulation(JudgingDesign(500, 10, 1), NOISE_ALONE)
    assert simulated.these(mean) == pytest.approx(NormalDist().cdf(share / error - 1.96), abs=ERROR)


def test_the_interval_over_raters_is_that_of_reports():
    simulated = power._Simulation(JudgingDesign(40, 5, 3), PRIORS)
    mean, seen = 12.0, 0
    better, worse = power._votes(simulated._of_others, mean)
    outcomes, raters = power._outcomes(better, worse), simulated.rater_of.T.ravel()
    images = np.arange(40).repeat(3)
    for run in range(power.RUNS):
        signs = (better[:, run].T.astype(int) - worse[:, run].T).ravel()
        moved = moved_outcomes(signs, images)
        decided = gains.DecidedImages(np.arange(40), outcomes[run], images, raters, signs, moved)
        interval, _p = gains.with_other_raters(decided)
        seen += interval.low > 0
    assert 0.2 < seen / power.RUNS < 0.8
    assert simulated.others(mean) == pytest.approx(seen / power.RUNS, abs=0.02)


def test_600_images_with_three_raters_each_see_little():
    known = power_of(JudgingDesign(600, 10, 3))

    assert [seen.points for seen in known.seen] == [3, 5, 8]
    assert [seen.these_raters for seen in known.seen] == pytest.approx([0.13, 0.31, 0.67], abs=0.06)
    assert [seen.other_raters for seen in known.seen] == pytest.approx([0.06, 0.11, 0.25], abs=0.06)
    assert known.smallest_these == pytest.approx(9.4, abs=0.6)
    assert known.smallest_other == pytest.approx(16.6, abs=1.5)


def test_for_the_same_judgements_more_images_see_more_than_more_raters_of_each():
    trade = {design.replication: (design.images, seen) for design, seen in trade_of(JudgingDesign(600, 10, 3))}

    assert {replication: images for replication, (images, _) in trade.items()} == {1: 1800, 2: 900, 3: 600, 5: 360}
    assert trade[3][1].points == pytest.approx(8)
    assert trade[1][1].these_raters == pytest.approx(0.88, abs=0.06)
    assert trade[1][1].these_raters > trade[3][1].these_raters > trade[5][1].these_raters
    assert [design.replication for design, _ in trade_of(JudgingDesign(600, 3, 3))] == [1, 2, 3]


def test_one_rater_says_nothing_of_others_and_what_sees_nothing_says_so():
    alone = power_of(JudgingDesign(600, 1, 1))
    assert {seen.other_raters for seen in alone.seen} == {None}
    assert alone.smallest_other is None
    assert power_of(JudgingDesign(4, 3, 3)).smallest_these is None
    # Two images that are both won are as one interval of the report has it: no evidence.
    assert {seen.these_raters for seen in power_of(JudgingDesign(2, 5, 3)).seen} == {0.0}
    for images, raters, replication in ((1, 3, 3), (9, 2, 3), (9, 3, 0)):
        with pytest.raises(ValueError, match="is no design"):
            JudgingDesign(images, raters, replication)


def judged(spread: PreferenceSpread, *, images: int = 2000, raters: int = 40, mean: float = 5.0, seed: int = 0):
    rng = np.random.default_rng(seed)
    rater = rng.random((images, raters)).argsort(axis=1)[:, :3]
    judgements = mean + spread.image * rng.standard_normal((images, 1))
    judgements = judgements + spread.rater * rng.standard_normal(raters)[rater]
    judgements += spread.rest * rng.standard_normal(rater.shape)
    signs = (judgements > 15).astype(int) - (judgements < -15)
    return np.arange(images).repeat(3), rater.ravel(), signs.ravel()


@pytest.mark.parametrize("spread", [PRIORS, PreferenceSpread(30, 12, 30)])
def test_spreads_are_found_again_in_judgements(spread):
    found = measured_spread([judged(spread, seed=seed) for seed in range(3)])

    assert (found.judgements, found.raters) == (18_000, 40)
    assert (found.spread.image, found.spread.rest) == pytest.approx((spread.image, spread.rest), rel=0.12)
    assert found.spread.rater == pytest.approx(spread.rater, rel=0.25)


@pytest.mark.parametrize("limits", [{"images": 99}, {"raters": 4}])
def test_from_few_judgements_or_raters_the_priors_are_used(limits):
    assert measured_spread([judged(PRIORS, **limits)]) == MeasuredSpread(PRIORS, 0, 0)
    assert measured_spread([]) == MeasuredSpread()


def test_few_raters_who_seem_not_to_differ_are_taken_to_differ_nevertheless():
    alike = PreferenceSpread(20, 0, 40)
    few, many = (measured_spread([judged(alike, images=2_000, raters=raters)]).spread.rater for raters in (5, 80))
    assert few > 4 > 2.5 > many


def test_judgements_that_are_all_alike_give_spreads_that_can_be_simulated():
    image, rater, sign = judged(PRIORS)
    found = measured_spread([(image, rater, np.ones_like(sign))]).spread
    assert min(found.image, found.rater) >= 0
    assert found.rest > 0
