"""How certain a correlation is: bootstrap intervals over evaluations, all resamples of a chunk computed at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.correlations import Coefficient, both_finite, centred, correlation, flipped, kendall_tau_b
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.sampling.resampling import Weights, bootstrap_interval
from crosslens_metrics.undefined import UndefinedFigureError

Values = NDArray[np.float64]
CELLS_AT_ONCE = 2_000_000
MAX_IN_TABLE = 3_000
"""Points: a table of the order of all pairs of more would take more than 72 MB."""


def correlation_interval(
    first: ArrayLike,
    second: ArrayLike,
    *,
    coefficient: Coefficient,
    flip: bool,
    resamples: int,
    rng: np.random.Generator,
) -> Interval:
    """The 95% percentile bootstrap interval of `correlation` over evaluations.

    A resampled evaluation brings both of its points. The cost grows with resamples × points, so that of many thousands
    fewer resamples are better asked for, above all for Kendall's tau-b.

    Parameters
    ----------
    first, second : array_like of float, shape (n_evaluations,)
        Finite figures of the same evaluations, in the same order.
    coefficient : Coefficient
    flip : bool
        Whether each evaluation also gives the point with both signs flipped.
    resamples : int
        Of the bootstrap, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    Interval
        Within −1 to 1.

    Raises
    ------
    UndefinedFigureError
        Where the coefficient is undefined, as it is in more than 1% of the resamples (ours), or is the same in all.
    """
    correlation(first, second, coefficient=coefficient, flip=flip)
    x, y = both_finite(first, second)
    of_points = STATISTICS[coefficient](*(flipped(x, y) if flip else (x, y)))

    levels = _ValueLevels(x), _ValueLevels(y)

    def statistic(weights: Weights) -> Values:
        if not flip:
            return of_points(weights)
        is_defined = levels[0].is_varied(weights) & levels[1].is_varied(weights)
        return np.where(is_defined, of_points(np.concatenate([weights, weights], axis=1)), np.nan)

    return bootstrap_interval(statistic, len(x), resamples=resamples, rng=rng)


def _pearson(x: Values, y: Values) -> Callable[[Weights], Values]:
    x, y = centred(x), centred(y)
    levels = _ValueLevels(x), _ValueLevels(y)

    def statistic(weights: Weights) -> Values:
        total = weights.sum(axis=1)
        sum_x, sum_y = weights @ x, weights @ y
        return _ratios(
            weights @ (x * y) - sum_x * sum_y / total,
            weights @ (x * x) - sum_x**2 / total,
            weights @ (y * y) - sum_y**2 / total,
            levels[0].is_varied(weights) & levels[1].is_varied(weights),
        )

    return statistic


def _spearman(x: Values, y: Values) -> Callable[[Weights], Values]:
    levels = _ValueLevels(x), _ValueLevels(y)

    def statistic(weights: Weights) -> Values:
        a, b = (level.centred_ranks(weights) for level in levels)
        return _ratios(
            (weights * a * b).sum(axis=1),
            (weights * a * a).sum(axis=1),
            (weights * b * b).sum(axis=1),
            levels[0].is_varied(weights) & levels[1].is_varied(weights),
        )

    return statistic


def _kendall(x: Values, y: Values) -> Callable[[Weights], Values]:
    if len(x) > MAX_IN_TABLE:
        return lambda weights: np.array([_kendall_of_one(x, y, row) for row in weights.astype(np.int64)])
    levels = _ValueLevels(x), _ValueLevels(y)
    same_order = np.empty((len(x), len(x)))
    at_once = max(1, CELLS_AT_ONCE // len(x))
    for start in range(0, len(x), at_once):
        rows = slice(start, start + at_once)
        same_order[rows] = np.sign(np.subtract.outer(x[rows], x)) * np.sign(np.subtract.outer(y[rows], y))

    def statistic(weights: Weights) -> Values:
        return _ratios(
            ((weights @ same_order) * weights).sum(axis=1),
            levels[0].untied(weights),
            levels[1].untied(weights),
            levels[0].is_varied(weights) & levels[1].is_varied(weights),
        )

    return statistic


def _kendall_of_one(x: Values, y: Values, times: NDArray[np.int64]) -> float:
    try:
        return kendall_tau_b(np.repeat(x, times), np.repeat(y, times))
    except UndefinedFigureError:
        return math.nan


def _matthews(x: Values, y: Values) -> Callable[[Weights], Values]:
    a, b = (x > 0).astype(float), (y > 0).astype(float)

    def statistic(weights: Weights) -> Values:
        total = weights.sum(axis=1)
        better_a, better_b = weights @ a, weights @ b
        spread_a, spread_b = better_a * (total - better_a), better_b * (total - better_b)
        together = total * (weights @ (a * b)) - better_a * better_b
        return _ratios(together, spread_a, spread_b, (spread_a > 0) & (spread_b > 0))

    return statistic


STATISTICS: dict[Coefficient, Callable[[Values, Values], Callable[[Weights], Values]]] = {
    Coefficient.PEARSON: _pearson,
    Coefficient.SPEARMAN: _spearman,
    Coefficient.KENDALL: _kendall,
    Coefficient.MATTHEWS: _matthews,
}


class _ValueLevels:
    """The different values of one side, and what follows from how often each is in a resample."""

    def __init__(self, values: Values) -> None:
        self._order = np.argsort(values, kind="stable")
        ascending = values[self._order]
        is_first = np.concatenate([[True], ascending[1:] != ascending[:-1]])
        self._starts = np.flatnonzero(is_first)
        self._place = np.empty(len(values), dtype=np.int64)
        self._place[self._order] = is_first.cumsum() - 1

    def _times(self, weights: Weights) -> Values:
        return np.asarray(np.add.reduceat(weights[:, self._order], self._starts, axis=1))

    def is_varied(self, weights: Weights) -> NDArray[np.bool_]:
        return np.asarray((self._times(weights) > 0).sum(axis=1) > 1)

    def untied(self, weights: Weights) -> Values:
        """Ordered pairs of points that differ."""
        return np.asarray(weights.sum(axis=1) ** 2 - (self._times(weights) ** 2).sum(axis=1))

    def centred_ranks(self, weights: Weights) -> Values:
        """The rank of each point among those of its resample, equal ones sharing their mean, around the mean rank."""
        times = self._times(weights)
        middle = times.cumsum(axis=1) - times / 2
        return np.asarray(middle[:, self._place] - weights.sum(axis=1, keepdims=True) / 2)


def _ratios(together: Values, first: Values, second: Values, is_varied: NDArray[np.bool_]) -> Values:
    # What is constant in a resample has a spread of zero but for rounding, so spreads alone do not tell.
    defined = is_varied & (first > 0) & (second > 0)
    spread = np.sqrt(np.where(defined, first, 1)) * np.sqrt(np.where(defined, second, 1))
    return np.where(defined, np.clip(together / spread, -1, 1), np.nan)
