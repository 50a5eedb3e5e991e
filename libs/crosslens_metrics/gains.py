"""Side by side: what the raters of an image decide, and the gain with its uncertainty.

A gain has two intervals: the published one, over images and with these raters; and one over images and raters.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import (
    IMAGES_FOR_POWER,
    NORMAL_QUANTILE,
    Interval,
    paired_interval,
    percentile_interval,
    student_interval,
)
from crosslens_metrics.sampling.significance import sign_test, student_p
from crosslens_metrics.sampling.variance import clustered, two_way, unanimous_interval
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason


def majority_outcomes(better: ArrayLike, worse: ArrayLike, ratings: ArrayLike) -> NDArray[np.int8]:
    """What a strict majority of the ratings of each image says, whatever the degree.

    Parameters
    ----------
    better, worse, ratings : array_like of int, shape (n_images,)
        How many ratings of an image say better, how many say worse, and how many there are (ties are the rest).

    Returns
    -------
    ndarray of int8, shape (n_images,)
        +1 where more than half of the ratings say better, −1 where more than half say worse, else 0. Of three
        ratings, two decide.
    """
    better, worse, ratings = np.asarray(better), np.asarray(worse), np.asarray(ratings)
    return (2 * better > ratings).astype(np.int8) - (2 * worse > ratings).astype(np.int8)


def moved_outcomes(signs: ArrayLike, images: ArrayLike) -> NDArray[np.float64]:
    """How far each judgement moved the outcome of its image from what another rater would have made of it.

    Another rater's judgement is taken to say better, worse and neither as often as all judgements here do: the
    difference is the projection of the outcome on that one judgement.

    Parameters
    ----------
    signs : array_like of int, shape (n_judgements,)
        +1 better, −1 worse, 0 neither.
    images : array_like of int, shape (n_judgements,)
        From 0.

    Returns
    -------
    ndarray of float, shape (n_judgements,)
        In outcomes, around a mean of zero.

    References
    ----------
    W. Hoeffding (1948), A class of statistics with asymptotically normal distribution.
    """
    sign, image = np.asarray(signs, dtype=int), np.asarray(images, dtype=int)
    if not len(sign):
        return np.zeros(0)
    better, worse = np.bincount(image, sign > 0).astype(int), np.bincount(image, sign < 0).astype(int)
    ratings = np.bincount(image)[image]
    better_of_others, worse_of_others = better[image] - (sign > 0), worse[image] - (sign < 0)
    expected = np.zeros(len(sign))
    for other in (-1, 0, 1):
        outcome = majority_outcomes(better_of_others + (other > 0), worse_of_others + (other < 0), ratings)
        expected += (sign == other).mean() * outcome
    moved = majority_outcomes(better[image], worse[image], ratings) - expected
    return np.asarray(moved - moved.mean(), dtype=float)


def gain(wins: int, losses: int, images: int) -> float:
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
    """The 95% percentile bootstrap interval of `gain` over images, in percentage points.

    A resample draws as many images as there are, with replacement. Since an image is one of three kinds (win, loss,
    neither), the numbers of each kind in a resample are exactly one draw of a multinomial distribution with the
    observed shares: no image need be drawn by itself, and 10,000 resamples of any number of images take milliseconds.

    Parameters
    ----------
    wins, losses : int
        Images in favour of the test model, and of the base model.
    images : int
        All of them, those that nobody won included.
    resamples : int
        Of the bootstrap, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    Interval
        In percentage points.

    Raises
    ------
    UndefinedFigureError
        Without images.

    Notes
    -----
    Where all images have the same outcome, so that resamples show nothing, it is Bonett and Price's.
    """
    gain(wins, losses, images)
    if images in (wins, losses, images - wins - losses):
        return paired_interval(wins, losses, images).times(100)
    kinds = np.array([wins, losses, images - wins - losses])
    draws = rng.multinomial(images, kinds / images, size=resamples)
    return percentile_interval(100 * (draws[:, 0] - draws[:, 1]) / images)


def with_other_raters(
    images: ArrayLike, outcomes: ArrayLike, *, judged: ArrayLike, raters: ArrayLike, moved: ArrayLike
) -> tuple[Interval, float]:
    """The 95% interval of a gain over other images and other raters, and the p-value of no gain.

    Two-way clustering by image and rater, with Student's t and Satterthwaite's degrees of freedom. Over images the
    outcomes vary; over raters what each moved of them. Where all outcomes and all raters are at one end, so many
    unanimous raters say how much: docs/statistics.md has the coverage.

    Parameters
    ----------
    images : array_like of int, shape (n_outcomes,)
        Which image each outcome belongs to; one image may be in several comparisons.
    outcomes : array_like of int, shape (n_outcomes,)
        +1, 0 or −1.
    judged : array_like of int, shape (n_judgements,)
        Of which outcome each judgement is, from 0.
    raters : array_like of int or str, shape (n_judgements,)
    moved : array_like of float, shape (n_judgements,)
        From `moved_outcomes`.

    Returns
    -------
    Interval
        In percentage points, with its design.
    float
        A probability.

    Raises
    ------
    UndefinedFigureError
        Without images, with one rater, or where every image has no winner and nobody ever said otherwise.

    References
    ----------
    A. C. Cameron, J. B. Gelbach and D. L. Miller (2011), Robust inference with multiway clustering.
    """
    value = pooled_gain(outcomes)
    image, outcome = np.unique(np.asarray(images), return_inverse=True)[1], np.asarray(outcomes, dtype=float)
    rater = np.unique(np.asarray(raters), return_inverse=True)[1]
    n_images, n_raters = int(image.max()) + 1, int(rater.max(initial=-1)) + 1
    if n_raters < 2:
        raise UndefinedFigureError(UndefinedReason.ONE_RATER, "One rater does not show how raters differ.")
    units = {Factor.IMAGE: n_images, Factor.RATER: n_raters}
    share = 100 * np.asarray(moved, dtype=float) / len(outcome)
    by_rater = clustered(share, rater)
    if n_images < 2 or not (np.ptp(outcome) or by_rater.variance):
        if abs(value) < 100 or by_rater.variance:
            raise UndefinedFigureError(UndefinedReason.NO_VARIATION, "All images have the same outcome.")
        interval = unanimous_interval(n_raters, low=-100, high=100, is_high=value > 0)
        return interval.of(SamplingDesign(Method.UNANIMOUS, units)), sign_test(n_raters, 0)
    by_image = clustered(100 * (outcome - outcome.mean()) / len(outcome), image)
    cell = np.unique(image[np.asarray(judged, dtype=int)] * n_raters + rater, return_inverse=True)[1]
    variance, freedom = two_way(by_image, by_rater, float(np.square(np.bincount(cell, share)).sum()))
    interval = student_interval(value, variance, freedom).within(-100, 100)
    return interval.of(SamplingDesign(Method.TWO_WAY, units)), student_p(value, variance, freedom)


def images_needed(wins: int, losses: int, images: int, *, width_points: float) -> int:
    """How many images the 95% interval of a gain takes to be `width_points` wide, if outcomes stay as frequent.

    From the variance of the outcome: the interval is about 2 × 1.96 × 100 × sqrt(variance / images) points wide.

    Parameters
    ----------
    wins, losses : int
        Images in favour of the test model, and of the base model.
    images : int
        All of them, those that nobody won included.
    width_points : float
        In percentage points, above 0.

    Returns
    -------
    int
        Images in all, those there are included.

    Raises
    ------
    UndefinedFigureError
        Without images, or where all have the same outcome.
    """
    return math.ceil((2 * NORMAL_QUANTILE * 100 / width_points) ** 2 * _variance(wins, losses, images))


def images_to_see(wins: int, losses: int, images: int) -> int:
    """How many images it takes for an 80% chance that the 95% interval of a gain leaves out zero.

    The gain is taken to be what was seen, with outcomes as frequent, and with these raters.

    Parameters
    ----------
    wins, losses : int
        Images in favour of the test model, and of the base model.
    images : int
        All of them, those that nobody won included.

    Returns
    -------
    int
        Images in all, those there are included.

    Raises
    ------
    UndefinedFigureError
        Without images or a gain, or where all have the same outcome.
    """
    variance = _variance(wins, losses, images)
    if wins == losses:
        raise UndefinedFigureError(UndefinedReason.NO_DIFFERENCE, "The images show no gain that more could confirm.")
    return math.ceil(IMAGES_FOR_POWER * NORMAL_QUANTILE**2 * variance / ((wins - losses) / images) ** 2)


def _variance(wins: int, losses: int, images: int) -> float:
    mean = gain(wins, losses, images) / 100
    variance = (wins + losses) / images - mean**2
    if variance <= 0:
        raise UndefinedFigureError(
            UndefinedReason.NO_VARIATION, "Every image has the same outcome: their variance is unknown."
        )
    return variance


def random_effects(wins: ArrayLike, losses: ArrayLike, images: ArrayLike) -> tuple[float, Interval]:
    """The mean gain over comparisons like these, each of which has a true gain of its own, and its 95% interval.

    Comparisons weigh by their images, the less the more their gains differ; the interval is Hartung and Knapp's, with
    no less variance than if all had one true gain. Each comparison's variance takes one more image of either kind to
    have been seen, so that none is certain.

    Parameters
    ----------
    wins, losses, images : array_like of int, shape (n_comparisons,)
        Of each comparison; at least two with images.

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
    won, lost, number = (np.asarray(column, dtype=float) for column in (wins, losses, images))
    if len(number) < 2:
        raise UndefinedFigureError(UndefinedReason.NO_VARIATION, "One comparison does not show how they differ.")
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
    variance = inflation / float(weight.sum())
    design = SamplingDesign(Method.RANDOM_EFFECTS, {Factor.COMPARISON: len(number)})
    return mean, student_interval(mean, variance, len(number) - 1).within(-100, 100).of(design)


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
    """The 95% percentile bootstrap interval of `pooled_gain` where comparisons share images.

    Images are resampled with all their comparisons (a cluster bootstrap), since outcomes of one image are alike.
    Images with as many outcomes and the same sum of them add the same to the gain, so they are one kind, and the kinds
    are drawn from a multinomial distribution as in `gain_interval`.

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
        In percentage points.

    Raises
    ------
    UndefinedFigureError
        Without outcomes, or where every image has the same ones, but for one each: see `gain_interval`.
    """
    if len(np.unique(np.asarray(images))) == len(np.asarray(images)) and len(np.unique(outcomes)) == 1:
        same = np.asarray(outcomes)
        return gain_interval(int((same > 0).sum()), int((same < 0).sum()), len(same), resamples=resamples, rng=rng)
    pooled_gain(outcomes)
    image_of = np.unique(np.asarray(images), return_inverse=True)[1]
    per_image = np.stack([np.bincount(image_of, weights=outcomes), np.bincount(image_of)], axis=1)
    kinds, frequency = np.unique(per_image, axis=0, return_counts=True)
    n_images = int(frequency.sum())
    draws = rng.multinomial(n_images, frequency / n_images, size=resamples)
    return percentile_interval(100 * (draws @ kinds[:, 0]) / (draws @ kinds[:, 1]))
