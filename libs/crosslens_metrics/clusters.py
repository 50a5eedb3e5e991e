"""Figures of observations that are not independent, such as the turns of one player, and of groups of unequal size."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.bootstrap import sums_by_group
from crosslens_metrics.intervals import LEVEL, SAME_WITHIN, Interval
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

MAX_CLUSTERS = 2_000
"""(ours) More clusters than this are put together at random before they are resampled: see `ratio_bounds`."""


def ratio_bounds(
    numerators: ArrayLike, denominators: ArrayLike, *, resamples: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The 95% percentile bootstrap intervals, over clusters, of many ratios of sums.

    Whole clusters are drawn with replacement, the same ones for all ratios. Beyond `MAX_CLUSTERS` they are first put
    together at random into that many groups, as equal in number as can be: sums of independent clusters are independent
    too, so the variance is estimated without bias, and the cost no longer grows with the clusters.

    Parameters
    ----------
    numerators, denominators : array_like of float, shape (n_clusters, n_ratios)
        The sums of each cluster; the denominators are not negative.
    resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    low, high : ndarray of float, shape (n_ratios,)
        NaN where there are fewer than two clusters, or where a resample has a denominator of zero; exactly equal where
        all resamples give the same, which is no interval.

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their Application, section 3.8.
    """
    numerators, denominators = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    clusters, ratios = numerators.shape
    if clusters < 2:
        return np.full(ratios, math.nan), np.full(ratios, math.nan)
    numerators, denominators = sums_by_group(numerators, denominators, groups=MAX_CLUSTERS, rng=rng)
    clusters = len(numerators)
    draws = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples).astype(float)
    below = draws @ denominators
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled = np.where(below > 0, (draws @ numerators) / below, math.nan)
    is_same = np.ptp(resampled, axis=0) <= SAME_WITHIN * np.maximum(1, np.abs(resampled).max(axis=0))
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, np.where(is_same, low, high)


def mean_interval(total: float, squares: float, number: int) -> Interval:
    """Student's 95% interval of a mean of independent observations.

    Parameters
    ----------
    total, squares : float
        The sums of the observations and of their squares.
    number : int
        How many observations there are.

    Returns
    -------
    Interval
        In the unit of the observations.

    Raises
    ------
    UndefinedFigureError
        With fewer than two observations, or where all are the same: an interval without width would claim certainty.
    """
    if number < 2:
        raise UndefinedFigureError(UndefinedReason.NO_VARIATION, "One observation does not show how much they vary.")
    mean = total / number
    variance = (squares - number * mean**2) / (number - 1)
    if variance <= 1e-12:
        raise UndefinedFigureError(UndefinedReason.NO_VARIATION, "All observations are the same.")
    half = float(scipy.special.stdtrit(number - 1, 0.5 + LEVEL / 2)) * math.sqrt(variance / number)
    return Interval(mean - half, mean + half)


def subset_sums(values: ArrayLike, *, size: int, resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The column sums of many random subsets of rows, each of `size` rows drawn without replacement.

    Parameters
    ----------
    values : array_like of float, shape (n_rows, n_columns)
    size : int
        At most n_rows.
    resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float, shape (resamples, n_columns)
        Where `size` is n_rows there is but one subset, and all rows of the answer are the same.
    """
    values = np.asarray(values, dtype=float)
    rows = len(values)
    whole = values.sum(axis=0)
    # What is left out is as random as what is drawn, and drawing the smaller of the two is cheaper.
    drawn = min(size, rows - size)
    parts = np.empty((resamples, values.shape[1]))
    for resample in range(resamples):
        parts[resample] = values[rng.choice(rows, drawn, replace=False, shuffle=False)].sum(axis=0)
    return parts if drawn == size else whole - parts
