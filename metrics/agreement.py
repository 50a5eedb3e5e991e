"""Agreement among raters."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.intervals import Interval, percentile_interval
from metrics.undefined import Reason, UndefinedFigure

Level = Literal["nominal", "ordinal", "interval"]
CELLS_AT_ONCE = 5_000_000


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
    UndefinedFigure
        A ValueError: no unit has two ratings, or every rating is the same (alpha is undefined).

    References
    ----------
    K. Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
    """
    table = np.asarray(ratings, dtype=float)
    raters, units = np.nonzero(~np.isnan(table))
    return alpha_of_ratings(units, table[raters, units], level=level)


def alpha_of_ratings(units: ArrayLike, values: ArrayLike, *, level: Level) -> float:
    """`krippendorff_alpha` of ratings in long form, one row each.

    Memory grows with units × distinct values and with the square of the distinct values, of which a scale has few.

    Parameters
    ----------
    units : array_like of int or str, shape (n_ratings,)
        What was rated. Who rated does not matter to alpha.
    values : array_like of float, shape (n_ratings,)
    level : {"nominal", "ordinal", "interval"}
    """
    scale, counts = _counts(units, values)
    coincidences = np.einsum("uv,uw->vw", counts / (counts.sum(axis=1, keepdims=True) - 1), counts)
    coincidences -= np.diag((counts / (counts.sum(axis=1, keepdims=True) - 1)).sum(axis=0))
    return float(_alpha(coincidences, scale, level))


def alpha_interval(
    units: ArrayLike, values: ArrayLike, *, level: Level, resamples: int, rng: np.random.Generator
) -> Interval:
    """The 95% percentile bootstrap interval of `alpha_of_ratings` over units.

    Units with the same ratings are one kind, and how often each kind comes in a resample is a multinomial draw: the
    same distribution as drawing units one by one, at a cost of kinds rather than units.

    Raises
    ------
    UndefinedFigure
        As `alpha_of_ratings`; where all units have the same ratings; or where a resample has no alpha.
    """
    scale, counts = _counts(units, values)
    kinds, frequency = np.unique(counts, axis=0, return_counts=True)
    if len(kinds) < 2:
        raise UndefinedFigure(Reason.NO_VARIATION, "Every unit has the same ratings: resampling them shows nothing.")
    sizes = kinds.sum(axis=1)
    # What a unit of the kind adds to the coincidence matrix.
    added = kinds[:, :, None] * kinds[:, None, :]
    diagonal = np.arange(len(scale))
    added[:, diagonal, diagonal] -= kinds
    added = (added / (sizes - 1)[:, None, None]).reshape(len(kinds), -1)
    at_once = max(1, CELLS_AT_ONCE // max(len(kinds), added.shape[1]))
    alphas = []
    for start in range(0, resamples, at_once):
        draws = rng.multinomial(counts.shape[0], frequency / frequency.sum(), size=min(at_once, resamples - start))
        alphas.append(_alpha((draws @ added).reshape(len(draws), len(scale), len(scale)), scale, level))
    resampled = np.concatenate(alphas)
    if np.isnan(resampled).any():
        raise UndefinedFigure(Reason.RESAMPLES_UNDEFINED, "Some resamples hold one rating only: too few units differ.")
    return percentile_interval(resampled)


def _counts(units: ArrayLike, values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The distinct values, and how often each was given to each unit, of the units with two ratings or more."""
    unit_of = np.unique(np.asarray(units), return_inverse=True)[1]
    scale, value_of = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    n_units = int(unit_of.max(initial=-1)) + 1
    flat = np.bincount(unit_of * len(scale) + value_of, minlength=n_units * len(scale))
    counts = flat.reshape(n_units, len(scale)).astype(float)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        raise UndefinedFigure(Reason.NO_PAIR_OF_RATINGS, "No unit has two ratings, so that nothing can agree.")
    if (counts.sum(axis=0) > 0).sum() < 2:
        raise UndefinedFigure(Reason.ALL_RATINGS_EQUAL, "Every rating is the same: agreement by chance would be full.")
    return scale, counts


def _alpha(coincidences: NDArray[np.float64], scale: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """Alpha of one or many coincidence matrices (the last two axes); NaN where one value only is left."""
    totals = coincidences.sum(axis=-1)
    if level == "nominal":
        distance = np.broadcast_to(1 - np.eye(len(scale)), coincidences.shape)
    else:
        # The ordinal metric is the interval metric on the mid-ranks among the values that were given.
        position = scale if level == "interval" else totals.cumsum(axis=-1) - totals / 2
        distance = (position[..., :, None] - position[..., None, :]) ** 2
    observed = (coincidences * distance).sum(axis=(-2, -1))
    expected = (totals[..., :, None] * totals[..., None, :] * distance).sum(axis=(-2, -1)) / (totals.sum(axis=-1) - 1)
    # With one value left, distances are zero but for rounding.
    defined = (totals > 0.5).sum(axis=-1) > 1
    return 1 - np.divide(observed, expected, out=np.full(np.shape(expected), np.nan), where=defined)
