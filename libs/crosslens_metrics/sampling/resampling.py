"""Resamples of units, and the 95% percentile interval of whatever can be computed from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.sampling.intervals import Interval, percentile_interval
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

CELLS_AT_ONCE = 2_000_000
MAX_SHARE_UNDEFINED = 0.01
"""(ours) Of the resamples, how many may lack the figure before its interval is undefined."""

Weights = NDArray[np.float64]


def resample_weights(n_units: int, *, resamples: int, rng: np.random.Generator) -> Iterator[Weights]:
    """How often each unit is in each resample: as many units as there are, drawn with replacement.

    Parameters
    ----------
    n_units : int
        How many there are.
    resamples : int
        Of the bootstrap, at least 1.
    rng : numpy.random.Generator

    Yields
    ------
    ndarray of float, shape (n_some, n_units)
        Whole numbers; some resamples at a time, so that memory does not grow with their number.

    Raises
    ------
    ValueError
        Without a resample.
    """
    if resamples < 1:
        raise ValueError(f"One resample or more is needed, not {resamples}.")
    at_once = max(1, CELLS_AT_ONCE // n_units)
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        drawn = rng.integers(0, n_units, size=(size, n_units)) + n_units * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n_units).reshape(size, n_units).astype(float)


def sums_by_group(
    *tables: NDArray[np.float64], groups: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], ...]:
    """Sum tables over random groups of units, as equal in number as can be, so that many are resampled as quickly.

    Parameters
    ----------
    *tables : ndarray, shape (n_units, n_sums)
        Sums of the same units, in the unit of the figure.
    groups : int
        How many.
    rng : numpy.random.Generator
        Draws the groups, the same for all tables.

    Returns
    -------
    tuple of ndarray, shape (min(n_units, groups), n_sums)
        The tables themselves if they have no more units than that.
    """
    units = len(tables[0])
    if units <= groups:
        return tables
    group = rng.permutation(units) % groups
    return tuple(
        np.stack([np.bincount(group, column, minlength=groups) for column in table.T], axis=1) for table in tables
    )


def bootstrap_interval(
    statistic: Callable[[Weights], NDArray[np.float64]], n_units: int, *, resamples: int, rng: np.random.Generator
) -> Interval:
    """The 95% percentile bootstrap interval of a figure over units.

    Parameters
    ----------
    statistic : callable
        From weights, shape (n_some, n_units), to the figure of each row, shape (n_some,), NaN where it has none. Of a
        mean: ``lambda weights: weights @ values / len(values)``.
    n_units, resamples, rng
        As for `resample_weights`.

    Returns
    -------
    Interval
        In the unit of the figure.

    Raises
    ------
    UndefinedFigureError
        Without units; where all resamples give the same figure, since an interval without width would claim certainty;
        or where more than 1% of them have none (ours).

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their Application, section 5.3.1.
    """
    if n_units < 1:
        raise UndefinedFigureError(UndefinedReason.NO_IMAGES, "There is nothing to resample.")
    return interval_of(
        np.concatenate([statistic(weights) for weights in resample_weights(n_units, resamples=resamples, rng=rng)])
    )


def interval_of(resampled: ArrayLike) -> Interval:
    """The interval from the figures that resamples gave.

    Parameters
    ----------
    resampled : array_like of float, shape (n_resamples,)
        NaN where a resample has no figure.

    Returns
    -------
    Interval
        In the unit of the figure.

    Raises
    ------
    UndefinedFigureError
        As `bootstrap_interval`.
    """
    figures = np.asarray(resampled, dtype=float)
    defined = figures[~np.isnan(figures)]
    undefined = len(figures) - len(defined)
    if undefined > MAX_SHARE_UNDEFINED * len(figures):
        message = f"{undefined} of {len(figures)} resamples have no such figure: there is too little."
        raise UndefinedFigureError(UndefinedReason.RESAMPLES_UNDEFINED, message)
    return percentile_interval(defined)


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
