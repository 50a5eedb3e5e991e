"""Side by side: what the raters of an image decide, and the gain over images with its uncertainty."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.sampling.intervals import NORMAL_QUANTILE, Interval, percentile_interval
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
        Without images, or where all have the same outcome.
    """
    gain(wins, losses, images)
    kinds = np.array([wins, losses, images - wins - losses])
    draws = rng.multinomial(images, kinds / images, size=resamples)
    return percentile_interval(100 * (draws[:, 0] - draws[:, 1]) / images)


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
    mean = gain(wins, losses, images) / 100
    variance = (wins + losses) / images - mean**2
    if variance <= 0:
        raise UndefinedFigureError(
            UndefinedReason.NO_VARIATION, "Every image has the same outcome: their variance is unknown."
        )
    return math.ceil((2 * NORMAL_QUANTILE * 100 / width_points) ** 2 * variance)


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
        Without outcomes, or where every image has the same ones.
    """
    pooled_gain(outcomes)
    image_of = np.unique(np.asarray(images), return_inverse=True)[1]
    per_image = np.stack([np.bincount(image_of, weights=outcomes), np.bincount(image_of)], axis=1)
    kinds, frequency = np.unique(per_image, axis=0, return_counts=True)
    n_images = int(frequency.sum())
    draws = rng.multinomial(n_images, frequency / n_images, size=resamples)
    return percentile_interval(100 * (draws @ kinds[:, 0]) / (draws @ kinds[:, 1]))
