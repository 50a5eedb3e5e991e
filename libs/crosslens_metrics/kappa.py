"""Agreement of raters beyond chance: Cohen's kappa of two raters, Fleiss' of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

Weights = Literal["none", "linear", "quadratic"]
POWERS: dict[Weights, int] = {"none": 0, "linear": 1, "quadratic": 2}


def cohen_kappa(
    first: ArrayLike, second: ArrayLike, *, weights: Weights = "none", scale: Sequence[Any] | None = None
) -> float:
    """Cohen's kappa: how far two raters of the same units agree beyond chance.

    Parameters
    ----------
    first, second : array_like of int, float or str, shape (n_units,)
        What each rater said of each unit; no rating is missing.
    weights : {"none", "linear", "quadratic"}
        How much a disagreement weighs: all the same, or by the steps between the two places on the scale, or by the
        square of them.
    scale : sequence, optional
        All levels in their order. Without it, the levels that were given, sorted: then a level that nobody chose is
        no step, so with weights the scale is better named.

    Returns
    -------
    float
        Dimensionless, at most 1; 0 is chance, below 0 systematic disagreement.

    Raises
    ------
    ValueError
        If the raters did not rate equally many units, a rating is missing (NaN, None) or not on the scale, or the scale
        names a level twice.
    UndefinedFigureError
        Without units, or where both raters said one and the same throughout (chance agreement is full).

    References
    ----------
    J. Cohen (1960), A coefficient of agreement for nominal scales.
    J. Cohen (1968), Weighted kappa.
    """
    one, other = np.asarray(first), np.asarray(second)
    if one.ndim != 1 or one.shape != other.shape:
        raise ValueError(f"Two lists of equally many ratings are needed, not of shapes {one.shape} and {other.shape}.")
    if weights not in POWERS:
        raise ValueError(f"weights are one of {', '.join(POWERS)}, not {weights!r}.")
    if not len(one):
        raise UndefinedFigureError(UndefinedReason.NO_PAIR_OF_RATINGS, "No unit was rated.")
    places, levels = _places(one, other, scale)
    table = np.bincount(places[0] * levels + places[1], minlength=levels * levels).reshape(levels, levels)
    steps = np.abs(np.subtract.outer(np.arange(levels), np.arange(levels)))
    distance = (steps > 0).astype(np.int64) if weights == "none" else steps.astype(np.int64) ** POWERS[weights]
    expected = int(table.sum(axis=1) @ distance @ table.sum(axis=0))
    if not expected:
        raise UndefinedFigureError(
            UndefinedReason.ALL_RATINGS_EQUAL, "Every rating is the same: agreement by chance would be full."
        )
    return 1 - len(one) * int((table * distance).sum()) / expected


def fleiss_kappa(counts: ArrayLike) -> float:
    """Fleiss' kappa: how far many raters, not necessarily the same for each unit, agree beyond chance.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_categories)
        How many raters put each unit into each category. Each unit has the same number of ratings, two or more.

    Returns
    -------
    float
        Dimensionless, at most 1; 0 is chance.

    Raises
    ------
    ValueError
        If the counts are no table of whole numbers from 0, or units differ in their number of ratings (Krippendorff's
        alpha can do that).
    UndefinedFigureError
        Without units with two ratings, or where all ratings are of one category.

    References
    ----------
    J. L. Fleiss (1971), Measuring nominal scale agreement among many raters.
    """
    given = np.asarray(counts)
    if given.ndim != 2:
        raise ValueError(f"A table of units by categories is needed, not an array of shape {given.shape}.")
    if not len(given):
        raise UndefinedFigureError(UndefinedReason.NO_PAIR_OF_RATINGS, "No unit was rated.")
    table = given.astype(np.int64) if np.isfinite(given).all() else np.full(given.shape, -1)
    if (table < 0).any() or (table != given).any():
        raise ValueError("How often a category was chosen is a whole number, 0 or more.")
    ratings = table.sum(axis=1)
    if (ratings != ratings[0]).any():
        odd = int(np.flatnonzero(ratings != ratings[0])[0])
        raise ValueError(f"Unit {odd} has {ratings[odd]} ratings and unit 0 has {ratings[0]}; all need as many.")
    raters, total = int(ratings[0]), int(ratings.sum())
    if raters < 2:
        raise UndefinedFigureError(
            UndefinedReason.NO_PAIR_OF_RATINGS, "No unit has two ratings, so that nothing can agree."
        )
    by_chance = int((table.sum(axis=0) ** 2).sum()) / total**2
    if by_chance == 1:
        raise UndefinedFigureError(
            UndefinedReason.ALL_RATINGS_EQUAL, "Every rating is the same: agreement by chance would be full."
        )
    observed = (int((table**2).sum()) - total) / (total * (raters - 1))
    return (observed - by_chance) / (1 - by_chance)


def _places(
    one: NDArray[Any], other: NDArray[Any], scale: Sequence[Any] | None
) -> tuple[tuple[NDArray[np.int_], NDArray[np.int_]], int]:
    """The place of each rating on the scale, from 0, and how many levels there are."""
    both = np.concatenate([one, other])
    if (both.dtype.kind == "f" and np.isnan(both).any()) or (both.dtype == object and None in both.tolist()):
        raise ValueError("A rating is missing. Leave units out that one of the two did not rate.")
    levels, place_of = np.unique(both, return_inverse=True)
    if scale is None:
        return (place_of[: len(one)], place_of[len(one) :]), len(levels)
    order = {level: place for place, level in enumerate(scale)}
    if len(order) < len(scale):
        raise ValueError("The scale names a level twice.")
    unknown = [level for level in levels.tolist() if level not in order]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not on the scale.")
    place_of = np.array([order[level] for level in levels.tolist()])[place_of]
    return (place_of[: len(one)], place_of[len(one) :]), len(scale)
