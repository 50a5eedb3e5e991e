"""Side by side: the gain, and its uncertainty.

A gain has two intervals: the published one, over images and with these raters; and one over images and raters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.majorities import alike_signs
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import (
    FEW_IMAGES,
    SAME_WITHIN,
    Interval,
    paired_interval,
    percentile_interval,
    student_interval,
    student_reach,
)
from crosslens_metrics.sampling.significance import sign_test, student_p, unanimous_p
from crosslens_metrics.sampling.variance import VarianceComponent, clustered, two_way, unanimous_interval
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

MIN_RATERS = 5
"""(ours) From so many raters on, what holds with other raters like them is primary, and more images can show it."""


@dataclass(frozen=True)
class DecidedImages:
    """What the majority says of each image that has all its judgements, and the judgements behind it."""

    image: NDArray[Any]
    """Codes or names; one image may be in several comparisons."""
    outcome: NDArray[np.int8]
    """+1 test better, −1 worse, 0 neither."""
    judged: NDArray[np.int_] = field(default_factory=lambda: np.zeros(0, dtype=int))
    """The place among `image` of each judgement; of similar images there is none."""
    rater: NDArray[Any] = field(default_factory=lambda: np.zeros(0, dtype=object))
    sign: NDArray[np.int_] = field(default_factory=lambda: np.zeros(0, dtype=int))
    """Of each judgement: +1 better, −1 worse, 0 neither."""
    moved: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """How far each judgement moved the outcome: `majorities.moved_outcomes`."""

    @cached_property
    def raters(self) -> int:
        return len(set(self.rater.tolist()))

    def turned(self) -> DecidedImages:
        """The same with base and test exchanged."""
        return replace(self, outcome=-self.outcome, sign=-self.sign, moved=-self.moved)

    @cached_property
    def alike(self) -> float:
        """How far raters agree: `majorities.alike_signs`."""
        return alike_signs(self.judged, self.sign)

    @cached_property
    def variance(self) -> GainVariance:
        """`variance_parts`, for all figures that need it."""
        return variance_parts(self)

    @property
    def shown(self) -> float:
        """The share of outcomes that raters made, in percent: pairs with equal captions have none."""
        return 100 * len(np.unique(self.judged)) / len(self.outcome)


def gain(wins: float, losses: float, images: float) -> float:
    """WINS − LOSSES in percentage points of the images.

    Parameters
    ----------
    wins, losses : int
        Images in favour of the test model, and of the base model.
    images : int
        All of them, those that nobody won included.

    Returns
    -------
    float
        In percentage points, from −100 to 100.

    Raises
    ------
    UndefinedFigureError
        Without images.

    References
    ----------
    A. V. Thapliyal et al. (2022), Crossmodal-3600.
    """
    if images < 1:
        raise UndefinedFigureError(UndefinedReason.NO_IMAGES, "There is no image with all its judgements.")
    return 100 * (wins - losses) / images


def gain_interval(wins: int, losses: int, images: int, *, resamples: int, rng: np.random.Generator) -> Interval:
    """The 95% interval of `gain` over images, with these raters: see `pooled_gain_interval`.

    Parameters
    ----------
    wins, losses, images : int
        As for `gain`.
    resamples : int
        Of the bootstrap, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    Interval
        In percentage points, with its design.

    Raises
    ------
    UndefinedFigureError
        Without images.

    Notes
    -----
    An image is one of three kinds (win, loss, neither), so that the numbers of each kind in a resample are one draw of
    a multinomial distribution with the observed shares: no image need be drawn by itself, and 10,000 resamples of any
    number of images take milliseconds.
    """
    gain(wins, losses, images)
    kinds = np.array([wins, losses, images - wins - losses])
    if _is_few(kinds):
        return paired_interval(wins, losses, images).times(100).of(_over_images(Method.DECIDED, images))
    draws = rng.multinomial(images, kinds / images, size=resamples)
    interval = percentile_interval(100 * (draws[:, 0] - draws[:, 1]) / images)
    return interval.of(_over_images(Method.BOOTSTRAP, images))


def _is_few(kinds: NDArray[np.int_]) -> bool:
    """Whether numbers of images of each kind are too few for resamples."""
    return int(kinds.sum() - kinds.max()) < FEW_IMAGES


def _over_images(method: Method, images: int) -> SamplingDesign:
    return SamplingDesign(method, {Factor.IMAGE: images})


def with_other_raters(decided: DecidedImages) -> tuple[Interval, float]:
    """The 95% interval of a gain over other images and other raters, and the p-value of no gain.

    Two-way clustering by image and rater, with Student's t and Satterthwaite's degrees of freedom. Over images the
    outcomes vary; over raters what each moved of them. What generalises to more is no more certain: with few images
    the interval also holds that over images alone, and the more raters agree, what so many can know of others. The
    p-value is the largest of all. docs/statistics.md has the coverage.

    Parameters
    ----------
    decided : DecidedImages

    Returns
    -------
    Interval
        In percentage points, with its design: that of the widest.
    float
        A probability.

    Raises
    ------
    UndefinedFigureError
        Without images, or with one rater.

    References
    ----------
    A. C. Cameron, J. B. Gelbach and D. L. Miller (2011), Robust inference with multiway clustering.
    """
    value, parts = pooled_gain(decided.outcome), decided.variance
    found: list[tuple[Interval, float, Method]] = []
    if parts.by_image.units > 1 and (np.ptp(decided.outcome) or parts.shows_raters):
        variance, freedom = two_way(parts.by_image, parts.by_rater, parts.by_both)
        interval = student_interval(value, variance, freedom).within(-100, 100)
        found.append((interval, student_p(value, variance, freedom), Method.TWO_WAY))
    wins, losses, images, is_few = independent_outcomes(decided.image, decided.outcome)
    if is_few:
        p = sign_test(wins, losses) if wins + losses else 1.0
        found.append((paired_interval(wins, losses, images).times(100), p, Method.DECIDED))
    if alike := decided.alike if parts.shows_raters else 1.0:
        raters, reach = parts.by_rater.units, decided.shown
        interval = unanimous_interval(raters, value, low=-reach, high=reach, alike=alike)
        found.append((interval, unanimous_p(raters, value, reach=reach, alike=alike), Method.UNANIMOUS))
    intervals, p_values, methods = zip(*found, strict=True)
    widths = [interval.width for interval in intervals]
    units = {Factor.IMAGE: parts.by_image.units, Factor.RATER: parts.by_rater.units}
    design = SamplingDesign(methods[widths.index(max(widths))], units)
    low, high = min(interval.low for interval in intervals), max(interval.high for interval in intervals)
    return Interval(low, high, design), max(p_values)


@dataclass(frozen=True)
class GainVariance:
    """The variance of a gain over images and over raters, and what is in both, in squared points."""

    by_image: VarianceComponent
    by_rater: VarianceComponent
    by_both: float

    @property
    def shows_raters(self) -> bool:
        """Whether raters differ by more than sums of floats do."""
        return math.sqrt(self.by_rater.variance) > 100 * SAME_WITHIN


def variance_parts(decided: DecidedImages) -> GainVariance:
    """The parts of the variance of a gain; that over images is unknown, and zero, where there is one.

    Over raters it is that of what they moved, or of what they said, if this makes the interval wider: who is always
    outvoted moves no outcome, but would with others of the same taste.

    Parameters
    ----------
    decided : DecidedImages

    Returns
    -------
    GainVariance

    Raises
    ------
    UndefinedFigureError
        Without images, or with one rater.
    """
    pooled_gain(decided.outcome)
    if decided.raters < 2:
        raise UndefinedFigureError(UndefinedReason.ONE_RATER, "One rater does not show how raters differ.")
    image, rater = (np.unique(codes, return_inverse=True)[1] for codes in (decided.image, decided.rater))
    outcome, is_one = decided.outcome.astype(float), int(image.max()) == 0
    ratings = np.bincount(decided.judged)[decided.judged]
    # Of two ratings an outcome takes both: one that prefers a side moves it as often as the other does.
    said = decided.sign / ratings * np.where(ratings == 2, np.mean(decided.sign != 0), 1.0)
    cell = np.unique(image[decided.judged] * decided.raters + rater, return_inverse=True)[1]
    off = 100 * (outcome - outcome.mean()) / len(outcome)
    over_raters = []
    for moved in (decided.moved, said - said.mean()):
        share = 100 * moved / len(outcome)
        over_raters.append((clustered(share, rater), float(np.square(np.bincount(cell, share)).sum())))
    by_image = VarianceComponent(0.0, 1) if is_one else clustered(off, image)
    return GainVariance(by_image, *max(over_raters, key=lambda over: student_reach(*two_way(by_image, *over))))


def random_effects(images: Sequence[ArrayLike], outcomes: Sequence[ArrayLike]) -> tuple[float, Interval]:
    """The mean gain over comparisons like these, each of which has a true gain of its own, and its 95% interval.

    Comparisons weigh by their images, the less the more their gains differ; the interval is Hartung and Knapp's, with
    no less variance than if all had one true gain. Each comparison's variance takes one more image of either kind to
    have been seen, so that none is certain. What comparisons of the same images have in common comes on top: it moves
    them all alike, so that they do not show it.

    Parameters
    ----------
    images : sequence of array_like of int or str, shape (n_images,)
        Of each comparison. An image of the same name in several is the same image.
    outcomes : sequence of array_like of int, shape (n_images,)
        +1, 0 or −1.

    Returns
    -------
    float
        In percentage points.
    Interval
        In percentage points, with its design.

    Raises
    ------
    UndefinedFigureError
        With fewer than two comparisons, or where all have the same gain.

    References
    ----------
    R. DerSimonian and N. Laird (1986), Meta-analysis in clinical trials.
    J. Hartung and G. Knapp (2001), A refined method for the meta-analysis of controlled clinical trials.
    C. Röver, G. Knapp and T. Friede (2015), Hartung-Knapp-Sidik-Jonkman approach and its modification.
    """
    signs = [np.asarray(part, dtype=float) for part in outcomes]
    number = np.array([len(part) for part in signs], dtype=float)
    won, lost = (np.array([(sign * part > 0).sum() for part in signs], dtype=float) for sign in (1, -1))
    if len(number) < 2:
        raise UndefinedFigureError(UndefinedReason.ONE_COMPARISON, "One comparison has no mean over comparisons.")
    value = 100 * (won - lost) / number
    one, other = (won + 1) / (number + 2), (lost + 1) / (number + 2)
    within = 100**2 * (one + other - (one - other) ** 2) / (number + 2)
    weight = 1 / within
    spread = float(weight @ (value - weight @ value / weight.sum()) ** 2) - (len(number) - 1)
    between = max(0.0, spread / float(weight.sum() - weight @ weight / weight.sum()))
    weight = 1 / (within + between)
    mean = float(weight @ value / weight.sum())
    # Gains that happen to agree do not make the mean more certain than the images of all comparisons together do.
    inflation = max(1.0, float(weight @ (value - mean) ** 2) / (len(number) - 1))
    shares = weight / weight.sum() / number
    off = np.concatenate([share * (100 * part - one) for share, part, one in zip(shares, signs, value, strict=True)])
    per_image = np.bincount(np.unique(np.concatenate(images), return_inverse=True)[1], off)
    shared = max(0.0, float(per_image @ per_image - off @ off))
    variance, freedom = inflation / float(weight.sum()) + shared, min(len(number), len(per_image)) - 1
    design = SamplingDesign(Method.RANDOM_EFFECTS, {Factor.COMPARISON: len(number), Factor.IMAGE: len(per_image)})
    return mean, student_interval(mean, variance, max(1, freedom)).within(-100, 100).of(design)


def pooled_gain(outcomes: ArrayLike) -> float:
    """`gain` over all outcomes (+1, 0, −1) of several comparisons, one for each image and comparison.

    Parameters
    ----------
    outcomes : array_like of int, shape (n_outcomes,)
        +1, 0 or −1.

    Returns
    -------
    float
        In percentage points, from −100 to 100.
    """
    outcomes = np.asarray(outcomes)
    return gain(int((outcomes > 0).sum()), int((outcomes < 0).sum()), len(outcomes))


def pooled_gain_interval(
    images: ArrayLike, outcomes: ArrayLike, *, resamples: int, rng: np.random.Generator
) -> Interval:
    """The 95% interval of `pooled_gain` over images where comparisons share images.

    A percentile bootstrap: images are resampled with all their comparisons (a cluster bootstrap), since outcomes of one
    image are alike. Images with as many outcomes and the same sum of them add the same to the gain, so they are one
    kind, and the kinds are drawn from a multinomial distribution. With fewer than `FEW_IMAGES` images beside those
    whose outcomes are most frequent it is `paired_interval`, of as many independent outcomes as they are worth.

    Parameters
    ----------
    images : array_like of int or str, shape (n_outcomes,)
        Which image each outcome belongs to.
    outcomes : array_like of int, shape (n_outcomes,)
    resamples : int
        Of the bootstrap, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    Interval
        In percentage points, with its design.

    Raises
    ------
    UndefinedFigureError
        Without outcomes.
    """
    pooled_gain(outcomes)
    image_of = np.unique(np.asarray(images), return_inverse=True)[1]
    per_image = np.stack([np.bincount(image_of, weights=outcomes), np.bincount(image_of)], axis=1)
    n_images = len(per_image)
    wins, losses, independent, is_few = independent_outcomes(images, outcomes)
    if is_few:
        return paired_interval(wins, losses, independent).times(100).of(_over_images(Method.DECIDED, n_images))
    kinds, frequency = np.unique(per_image, axis=0, return_counts=True)
    draws = rng.multinomial(n_images, frequency / n_images, size=resamples)
    interval = percentile_interval(100 * (draws @ kinds[:, 0]) / (draws @ kinds[:, 1]))
    return interval.of(_over_images(Method.BOOTSTRAP, n_images))


def independent_outcomes(images: ArrayLike, outcomes: ArrayLike) -> tuple[float, float, float, bool]:
    """Wins, losses and outcomes as many as are worth as much as independent ones, and whether they are few.

    Outcomes of one image are taken to be all alike, so that more of some images than of others make them worth less.

    Parameters
    ----------
    images, outcomes : array_like, shape (n_outcomes,)
        As for `pooled_gain_interval`.

    Returns
    -------
    wins, losses, outcomes : float
        The numbers themselves, where each image has one outcome.
    is_few : bool
        Whether there are fewer than `FEW_IMAGES` images beside those with the most frequent mean.

    References
    ----------
    L. Kish (1965), Survey Sampling, section 8.2.
    """
    outcome, image = np.asarray(outcomes), np.unique(np.asarray(images), return_inverse=True)[1]
    sizes = np.bincount(image)
    worth = len(outcome) / float(sizes @ sizes)
    counts = (worth * int((outcome > 0).sum()), worth * int((outcome < 0).sum()), worth * len(outcome))
    return *counts, _is_few(np.unique(np.bincount(image, weights=outcome) / sizes, return_counts=True)[1])
