"""Agreement among raters whose units need not have equally many ratings: Krippendorff's alpha.

Pairs of ratings are never laid out. With positions p on a scale, the squared differences over all ordered pairs of m
ratings add up to 2 (m Σp² − (Σp)²), and the pairs of different categories to m² − Σc², so that time and memory grow
with the ratings, whatever the number of raters, units or levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.on_first_use import scipy
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import Interval, percentile_interval, student_interval
from crosslens_metrics.sampling.variance import jackknife, two_way, unanimous_interval
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
CELLS_AT_ONCE = 5_000_000
MAX_RATERS = 100


def krippendorff_alpha(ratings: ArrayLike, *, level: Level) -> float:
    """Krippendorff's alpha: chance-corrected agreement among raters.

    Parameters
    ----------
    ratings : array_like of float, shape (n_raters, n_units)
        NaN where a rater gave none.
    level : {"nominal", "ordinal", "interval"}

    Returns
    -------
    float
        Dimensionless, at most 1; 0 is chance, below 0 systematic disagreement.

    Raises
    ------
    ValueError
        If the ratings are no such table, or infinite, or there is no such level.
    UndefinedFigureError
        Where no unit has two ratings, or every rating is the same (alpha is undefined).

    References
    ----------
    K. Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
    """
    table = np.asarray(ratings, dtype=float)
    if table.ndim != 2:
        raise ValueError(f"A table of raters by units is needed, not an array of shape {table.shape}.")
    raters, units = np.nonzero(~np.isnan(table))
    return alpha_of_ratings(units, table[raters, units], level=level)


def alpha_of_ratings(units: ArrayLike, values: ArrayLike, *, level: Level) -> float:
    """`krippendorff_alpha` of ratings in long form, one row each.

    Parameters
    ----------
    units : array_like of int or str, shape (n_ratings,)
        What was rated. Who rated does not matter to alpha.
    values : array_like of float, shape (n_ratings,)
        Finite; rows without a rating are left out.
    level : {"nominal", "ordinal", "interval"}

    Returns
    -------
    float
        Dimensionless, at most 1; 0 is chance.
    """
    table = _table(units, values, level)
    return float(_alphas(table, np.ones((1, table.counts.shape[0])), level)[0])


def alpha_interval(
    units: ArrayLike, values: ArrayLike, *, level: Level, resamples: int, rng: np.random.Generator
) -> Interval:
    """The 95% percentile bootstrap interval of `alpha_of_ratings` over units.

    Units with the same ratings are one kind, and how often each kind comes in a resample is a multinomial draw: the
    same distribution as drawing units one by one, at a cost of kinds rather than units.

    Parameters
    ----------
    units : array_like of int or str, shape (n_ratings,)
        What was rated.
    values : array_like of float, shape (n_ratings,)
        Finite.
    level : {"nominal", "ordinal", "interval"}
    resamples : int
        Of the bootstrap, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    Interval
        Dimensionless.

    Raises
    ------
    UndefinedFigureError
        As `alpha_of_ratings`; where all units have the same ratings; or where a resample has no alpha.
    """
    table = _table(units, values, level)
    kinds, frequency = _kinds(table.counts)
    kind_table = _RatingTable(table.scale, table.counts[kinds])
    n_units = int(frequency.sum())
    at_once = max(1, CELLS_AT_ONCE // max(len(frequency), len(table.scale)))
    resampled = np.concatenate(
        [
            _alphas(
                kind_table,
                rng.multinomial(n_units, frequency / n_units, size=min(at_once, resamples - start)).astype(float),
                level,
            )
            for start in range(0, resamples, at_once)
        ]
    )
    if np.isnan(resampled).any():
        raise UndefinedFigureError(
            UndefinedReason.RESAMPLES_UNDEFINED, "Some resamples hold one rating only: too few units differ."
        )
    return percentile_interval(resampled)


def alpha_with_other_raters(units: ArrayLike, raters: ArrayLike, values: ArrayLike, *, level: Level) -> Interval:
    """The 95% interval of `alpha_of_ratings` over other units and other raters.

    Jackknives over units and over raters, added, with Student's t and Satterthwaite's degrees of freedom. It errs on
    the wide side, since what one rater says of one unit is in both.

    Raters who agree do not show how others differ: as many of these as Clopper and Pearson allow for may say the
    contrary. The interval holds the alpha of such raters the more, the higher it is among those that there are.

    Parameters
    ----------
    units : array_like of int or str, shape (n_ratings,)
        What was rated.
    raters : array_like of int or str, shape (n_ratings,)
        By whom. More than `MAX_RATERS` are left out some at a time.
    values : array_like of float, shape (n_ratings,)
        Finite.
    level : {"nominal", "ordinal", "interval"}

    Returns
    -------
    Interval
        Dimensionless, with its design.

    Raises
    ------
    UndefinedFigureError
        As `alpha_of_ratings`; with one unit or rater; or where alpha is undefined without one of them.
    """
    unit, given = np.asarray(units), np.asarray(values, dtype=float)
    names, rater = np.unique(np.asarray(raters), return_inverse=True)
    table = _table(unit, given, level)
    kinds, frequency = _kinds(table.counts)
    n_units = int(frequency.sum())
    if len(names) < 2 or n_units < 2:
        raise UndefinedFigureError(UndefinedReason.NO_VARIATION, "One rater or unit does not show how they differ.")
    left_out = _alphas(_RatingTable(table.scale, table.counts[kinds]), frequency - np.eye(len(kinds)), level)
    by_unit = jackknife(np.repeat(left_out, frequency))
    by_rater = jackknife(_without_each(rater % MAX_RATERS, unit, given, level))
    variance, freedom = two_way(by_unit, by_rater, 0.0)
    value = alpha_of_ratings(unit, given, level=level)
    design = SamplingDesign(Method.JACKKNIFE, {Factor.IMAGE: n_units, Factor.RATER: len(names)})
    if value == 1:
        clustered = Interval(value, value)
    else:
        clustered = student_interval(value, variance, freedom).within(-np.inf, 1.0)
    alike = unanimous_interval(len(names), 1, low=0, high=1).low
    # Of two camps that say the contrary, pairs within a camp count for alpha and pairs of both against it.
    of_others = max(0.0, 2 * alike - 1) ** 2
    low = value - max(0.0, value) ** 2 * (1 - of_others)
    return Interval(min(low, clustered.low), clustered.high, design)


def _without_each(
    group: NDArray[np.int_], units: NDArray[np.generic], values: NDArray[np.float64], level: Level
) -> list[float]:
    """Alpha without the ratings of each group in turn, NaN where it is undefined."""
    left_out = []
    for one in range(int(group.max()) + 1):
        try:
            left_out.append(alpha_of_ratings(units[group != one], values[group != one], level=level))
        except UndefinedFigureError:
            left_out.append(math.nan)
    return left_out


@dataclass(frozen=True)
class _RatingTable:
    """How often each value of the scale was given to each unit, of units with two ratings or more."""

    scale: NDArray[np.float64]
    counts: scipy.sparse.csr_array


def _table(units: ArrayLike, values: ArrayLike, level: Level) -> _RatingTable:
    if level not in LEVELS:
        raise ValueError(f"level is one of {', '.join(LEVELS)}, not {level!r}.")
    rated, given = np.asarray(units), np.asarray(values, dtype=float)
    if given.ndim != 1 or rated.shape != given.shape:
        raise ValueError(f"A unit for each rating is needed, not arrays of shapes {rated.shape} and {given.shape}.")
    if not np.isfinite(given).all():
        raise ValueError("A rating is missing or not finite. Leave its row out.")
    unit_of = np.unique(rated, return_inverse=True)[1]
    scale, value_of = np.unique(given, return_inverse=True)
    several = np.bincount(unit_of)[unit_of] >= 2 if len(unit_of) else np.zeros(0, dtype=bool)
    cells, times = np.unique(unit_of[several].astype(np.int64) * len(scale) + value_of[several], return_counts=True)
    if not len(cells):
        raise UndefinedFigureError(
            UndefinedReason.NO_PAIR_OF_RATINGS, "No unit has two ratings, so that nothing can agree."
        )
    rows = np.unique(cells // len(scale), return_inverse=True)[1]
    columns = cells % len(scale)
    if (columns == columns[0]).all():
        raise UndefinedFigureError(
            UndefinedReason.ALL_RATINGS_EQUAL, "Every rating is the same: agreement by chance would be full."
        )
    counts = scipy.sparse.csr_array((times.astype(float), (rows, columns)), shape=(int(rows[-1]) + 1, len(scale)))
    return _RatingTable(scale, counts)


def _kinds(counts: scipy.sparse.csr_array) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """A unit of each kind, and how many there are of it; in the order of the rows of counts, as the seed meets them."""
    ends = 2 * counts.indptr
    cells = np.stack([-counts.indices.astype(np.int64), counts.data.astype(np.int64)], axis=1).ravel().tolist()
    seen: dict[tuple[int, ...], list[int]] = {}
    for unit in range(counts.shape[0]):
        seen.setdefault(tuple(cells[ends[unit] : ends[unit + 1]]), [unit, 0])[1] += 1
    kinds = np.array([seen[kind] for kind in sorted(seen)])
    return kinds[:, 0], kinds[:, 1]


def _alphas(table: _RatingTable, weights: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """Alpha with each unit as often as its weight, one for each row of weights; NaN where one value only is left."""
    counts = table.counts
    sizes = counts.sum(axis=1)
    totals = weights @ counts
    ratings = totals.sum(axis=1)
    if level == "nominal":
        unlike = sizes**2 - (counts * counts).sum(axis=1)
        observed = weights @ (unlike / (sizes - 1))
        expected = ratings**2 - (totals**2).sum(axis=1)
    else:
        # The ordinal metric is the interval metric on the mid-ranks among the values that were given.
        position = np.broadcast_to(table.scale, totals.shape) if level == "interval" else totals.cumsum(1) - totals / 2
        # Around their mean, so that the differences of large numbers lose no digits.
        position = position - ((totals * position).sum(axis=1) / ratings)[:, None]
        squares, sums = position**2 @ counts.T, position @ counts.T
        observed = (weights * (2 * (sizes * squares - sums**2) / (sizes - 1))).sum(axis=1)
        expected = 2 * (ratings * (totals * position**2).sum(axis=1) - (totals * position).sum(axis=1) ** 2)
    # With one value left, distances are zero but for rounding.
    defined = (totals > 0.5).sum(axis=1) > 1
    share = np.divide(observed * (ratings - 1), expected, out=np.full(len(weights), np.nan), where=defined)
    return np.asarray(1 - share, dtype=float)
