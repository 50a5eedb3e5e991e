"""Simulations with known preferences: 95% intervals hold the truth as often as they claim to.

Each has a control, an interval that is too narrow, which the same check must refuse. `pytest -s` prints the coverages.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pytest
import scipy

from crosslens_metrics.agreement import alpha_interval, alpha_of_ratings, alpha_with_other_raters
from crosslens_metrics.gains import gain_interval, pooled_gain_interval
from crosslens_metrics.majorities import majority_outcomes
from crosslens_metrics.sampling.intervals import LEVEL, Interval, share_bounds
from tests.tiers import some
from tools.coverage.simulations import (
    RATERS,
    MeasuredCoverage,
    RatersOfTwoTastes,
    RatersWhoDiffer,
    bootstrap_of_gain,
    intervals_of,
    ratings_on_seven_points,
)

RESAMPLES = 1_000


@dataclass(frozen=True)
class Preference:
    """How likely a rater calls the test caption better and worse, on one half of the images and on the other."""

    better: tuple[float, float]
    worse: tuple[float, float]

    @property
    def gain(self) -> float:
        """The true gain in points: two or three of three raters decide."""
        wins, losses = ([p**2 * (3 - 2 * p) for p in chances] for chances in (self.better, self.worse))
        return 100 * (sum(wins) - sum(losses)) / 2


NO_GAIN = Preference(better=(0.5, 0.3), worse=(0.3, 0.5))
SMALL_GAIN = Preference(better=(0.5, 0.35), worse=(0.3, 0.4))
LARGE_GAIN = Preference(better=(0.8, 0.5), worse=(0.1, 0.25))
CASES = [(preference, images) for images in (600, 150, 3_600) for preference in (SMALL_GAIN, NO_GAIN, LARGE_GAIN)]


def simulated_outcomes(preference: Preference, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Majorities of three raters each; which half an image belongs to is drawn."""
    half = rng.integers(0, 2, size=shape)
    chances = np.stack([preference.better, preference.worse])[:, half]
    answers = rng.random((RATERS, *shape))
    better = (answers < chances[0]).sum(axis=0)
    worse = (answers > 1 - chances[1]).sum(axis=0)
    return majority_outcomes(better, worse, np.full(shape, RATERS))


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def half_as_wide(interval: Interval) -> Interval:
    return Interval(interval.low + interval.width / 4, interval.high - interval.width / 4)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("preference", "images"),
    some(CASES, short=1, reason="other gains, and fewer and more images"),
    ids=lambda case: str(getattr(case, "gain", case))[:5],
)
def test_the_interval_of_a_gain_holds_the_true_gain_at_its_nominal_rate(preference, images):
    runs = 1_000
    rng = np.random.default_rng([20_26, images])
    intervals = []
    for _ in range(runs):
        outcomes = simulated_outcomes(preference, (images,), rng)
        wins, losses = int((outcomes > 0).sum()), int((outcomes < 0).sum())
        intervals.append(gain_interval(wins, losses, images, resamples=RESAMPLES, rng=rng))

    coverage = MeasuredCoverage.of([interval.holds(preference.gain) for interval in intervals])
    control = MeasuredCoverage.of([half_as_wide(interval).holds(preference.gain) for interval in intervals])

    say(
        f"gain {preference.gain:+.1f}, {images} images: {100 * coverage.share:.1f}% ± {100 * coverage.error:.1f}; "
        f"half as wide {100 * control.share:.1f}%"
    )
    assert coverage.is_nominal
    assert not control.is_nominal


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_interval_of_a_pooled_gain_allows_for_images_in_several_comparisons():
    runs, images, comparisons = 300, 200, 4
    rng = np.random.default_rng(7)
    truth = SMALL_GAIN.gain
    image_of = np.repeat(np.arange(images), comparisons)
    clustered, as_if_apart = [], []
    for _ in range(runs):
        # Each image has one true outcome, which each comparison shows or draws anew by the toss of a coin.
        own = simulated_outcomes(SMALL_GAIN, (images,), rng)[:, None]
        drawn = simulated_outcomes(SMALL_GAIN, (images, comparisons), rng)
        outcomes = np.where(rng.random((images, comparisons)) < 0.5, own, drawn).ravel()
        clustered.append(pooled_gain_interval(image_of, outcomes, resamples=RESAMPLES, rng=rng))
        apart = pooled_gain_interval(np.arange(len(outcomes)), outcomes, resamples=RESAMPLES, rng=rng)
        as_if_apart.append(apart)

    coverage = MeasuredCoverage.of([interval.holds(truth) for interval in clustered])
    control = MeasuredCoverage.of([interval.holds(truth) for interval in as_if_apart])

    say(f"pooled: {100 * coverage.share:.1f}% ± {100 * coverage.error:.1f}; as if apart {100 * control.share:.1f}%")
    assert coverage.is_nominal
    assert not control.is_nominal


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("spread", [0, 6, 12])
@pytest.mark.parametrize("raters", [3, 5, 10, 30])
@pytest.mark.parametrize("images", [20, 100, 600])
def test_a_gain_with_other_raters_holds_where_the_one_with_these_raters_does_not(images, raters, spread):
    runs = 300
    rng = np.random.default_rng([images, raters, spread])
    both = [intervals_of(*RatersWhoDiffer(images, raters, spread).judged(rng), rng) for _ in range(runs)]

    these, others = (
        MeasuredCoverage.of([interval.holds(0) for interval in column]) for column in zip(*both, strict=True)
    )

    width = np.mean([interval.width for _, interval in both])
    say(
        f"{images} images, {raters} raters, spread {spread}: with these raters {100 * these.share:.1f}%, with others "
        f"{100 * others.share:.1f}% (± {width / 2:.1f} points)"
    )
    assert not others.is_too_low
    if spread == 12 and images == 600:
        assert these.is_too_low


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("images", [2, 4, 7, 10, 20])
def test_a_gain_of_few_images_holds_where_its_bootstrap_does_not(images):
    runs, rng = 1_000, np.random.default_rng([6, images])
    lowest = []
    for shares in ([0.5, 0.5, 0.0], [0.4, 0.2, 0.4], [0.87, 0.03, 0.1], [0.06, 0.04, 0.9]):
        studies = rng.multinomial(images, shares, size=runs)
        gain = round(100 * (shares[0] - shares[1]), 6)
        exact = [
            gain_interval(wins, losses, images, resamples=RESAMPLES, rng=rng) for wins, losses, _ in studies.tolist()
        ]
        resampled = [bootstrap_of_gain(study, rng) for study in studies]
        lowest.append([np.mean([one.holds(gain) for one in column]) for column in (exact, resampled)])

    coverage, control = (MeasuredCoverage(float(share), runs) for share in np.min(lowest, axis=0))
    say(f"{images} images: {100 * coverage.share:.0f}% at least; of the bootstrap {100 * control.share:.0f}%")
    assert not coverage.is_too_low
    assert control.is_too_low


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(("raters", "slips"), [(3, 0.0), (3, 0.05), (5, 0.01), (10, 0.05)])
def test_a_gain_by_raters_of_two_tastes_who_may_nearly_always_agree_holds_with_others(raters, slips):
    runs, rng = 400, np.random.default_rng([8, raters])
    study = RatersOfTwoTastes(100, raters, 0.7, slips)
    both = [intervals_of(*study.judged(rng), rng) for _ in range(runs)]
    these, others = (
        MeasuredCoverage.of([one.holds(study.gain) for one in column]) for column in zip(*both, strict=True)
    )

    say(f"two tastes: with these raters {100 * these.share:.0f}%, with others {100 * others.share:.0f}%")
    assert not others.is_too_low
    assert these.is_too_low


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("raters", [4, 12])
def test_alpha_with_other_raters_holds_where_the_one_with_these_raters_does_not(raters):
    images, runs = 200, 100
    rng = np.random.default_rng([7, raters])
    unit, _, score = ratings_on_seven_points(4_000, 300, rng)
    true = alpha_of_ratings(unit, score, level="ordinal")
    held, held_by_these = [], []
    for _ in range(runs):
        unit, who, score = ratings_on_seven_points(images, raters, rng)
        held.append(alpha_with_other_raters(unit, who, score, level="ordinal").holds(true))
        held_by_these.append(alpha_interval(unit, score, level="ordinal", resamples=300, rng=rng).holds(true))

    say(f"alpha, {raters} raters: {100 * np.mean(held):.0f}%; with these raters {100 * np.mean(held_by_these):.0f}%")
    assert not MeasuredCoverage.of(held).is_too_low
    assert MeasuredCoverage.of(held_by_these).is_too_low or raters > 4


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("trials", [20, 100, 600])
@pytest.mark.parametrize("share", [0.5, 0.6, 0.9])
def test_the_interval_of_a_left_share_holds_the_true_share_at_least_at_its_nominal_rate(share, trials):
    runs = 20_000
    lefts = np.random.default_rng([20_26, trials]).binomial(trials, share, size=runs)
    low, high = share_bounds(lefts, np.full(runs, trials))
    quarter = (high - low) / 4

    coverage = MeasuredCoverage.of((low <= share) & (share <= high))
    control = MeasuredCoverage.of((low + quarter <= share) & (share <= high - quarter))

    # The interval is exact, so what it should cover is known for each share and size, and is 95% at least.
    counts = np.arange(trials + 1)
    lows, highs = share_bounds(counts, np.full(trials + 1, trials))
    claimed = scipy.stats.binom.pmf(counts, trials, share)[(lows <= share) & (share <= highs)].sum()
    say(
        f"left share {share}, {trials} judgements: {100 * coverage.share:.1f}% ± {100 * coverage.error:.1f} "
        f"(exactly {100 * claimed:.1f}%); half as wide {100 * control.share:.1f}%"
    )
    assert claimed >= LEVEL
    assert coverage.share == pytest.approx(claimed, abs=coverage.error)
    assert not coverage.is_too_low
    assert control.is_too_low
