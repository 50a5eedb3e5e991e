"""How far two figures of the same things go together, such as people's gain and a metric's difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

Points = NDArray[np.float64]
CELLS_AT_ONCE = 2_000_000


class Coefficient(StrEnum):
    PEARSON = "pearson"
    SPEARMAN = "spearman"
    KENDALL = "kendall"
    MATTHEWS = "matthews"


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    """Pearson's product-moment correlation: how near the points are to a straight line.

    Parameters
    ----------
    first, second : array_like of float, shape (n_points,)
        Finite figures of the same things, in the same order.

    Returns
    -------
    float
        From −1 to 1, dimensionless.

    Raises
    ------
    ValueError
        If the lengths differ or a figure is not finite.
    UndefinedFigureError
        With fewer than two points, or where one of the two has the same value throughout.

    References
    ----------
    K. Pearson (1895), Notes on regression and inheritance in the case of two parents.
    """
    x, y = both_finite(first, second)
    return _product_moment(*(centred(values) for values in (x, y)))


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rank correlation: Pearson's of the ranks, equal figures sharing the mean of their ranks.

    Parameters, value and errors are those of `pearson`. Ranks are exact, so equal figures must be equal as floats.

    Parameters
    ----------
    first, second : array_like of float, shape (n_points,)
        Finite figures of the same things, in the same order.

    Returns
    -------
    float
        From −1 to 1, dimensionless.

    References
    ----------
    C. Spearman (1904), The proof and measurement of association between two things.
    """
    x, y = both_finite(first, second)
    # Twice the ranks are whole numbers, and around their mean too.
    a, b = (np.rint(2 * ranks(values) - len(values) - 1).astype(np.int64) for values in (x, y))
    return _ratio(int(a @ b), int(a @ a), int(b @ b))


def kendall_tau_b(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-b: how many more pairs of points are in the same order than not, with a correction for ties.

    Parameters, value and errors are those of `pearson`. Exact, in n log² n steps.

    Parameters
    ----------
    first, second : array_like of float, shape (n_points,)
        Finite figures of the same things, in the same order.

    Returns
    -------
    float
        From −1 to 1, dimensionless.

    References
    ----------
    M. G. Kendall (1945), The treatment of ties in ranking problems.
    W. R. Knight (1966), A computer method for calculating Kendall's tau with ungrouped data.
    """
    x, y = (np.unique(values, return_inverse=True)[1] for values in both_finite(first, second))
    order = np.lexsort((y, x))
    pairs = math.comb(len(x), 2)
    tied_x, tied_y = _pairs_within(x), _pairs_within(y)
    tied_both = _pairs_within(x * (int(y.max()) + 1) + y)
    concordant_less_discordant = pairs - tied_x - tied_y + tied_both - 2 * _inversions(y[order])
    return _ratio(concordant_less_discordant, pairs - tied_x, pairs - tied_y)


def matthews(first: ArrayLike, second: ArrayLike) -> float:
    """Matthews correlation over signs: whether both call the same things better.

    Parameters
    ----------
    first, second : array_like of float, shape (n_points,)
        Differences. Above zero is better; exactly zero counts as not better.

    Returns
    -------
    float
        From −1 to 1, dimensionless.

    Raises
    ------
    ValueError
        As `pearson`.
    UndefinedFigureError
        With fewer than two points, or where one of the two is better throughout, or never.

    References
    ----------
    B. W. Matthews (1975), Comparison of the predicted and observed secondary structure of T4 phage lysozyme.
    """
    x, y = both_finite(first, second)
    a, b = x > 0, y > 0
    n, better_a, better_b, better_both = len(x), int(a.sum()), int(b.sum()), int((a & b).sum())
    if better_a in {0, n} or better_b in {0, n}:
        raise UndefinedFigureError(UndefinedReason.ONE_SIGN_ONLY, "One of the two is better throughout, or never.")
    return _ratio(n * better_both - better_a * better_b, better_a * (n - better_a), better_b * (n - better_b))


FUNCTIONS: dict[Coefficient, Callable[[ArrayLike, ArrayLike], float]] = {
    Coefficient.PEARSON: pearson,
    Coefficient.SPEARMAN: spearman,
    Coefficient.KENDALL: kendall_tau_b,
    Coefficient.MATTHEWS: matthews,
}


def flipped(first: ArrayLike, second: ArrayLike) -> tuple[Points, Points]:
    """The points of evaluations, and after them the same with both signs flipped.

    Which of two models is called the base is arbitrary, so that each evaluation is two points: n become 2 n.

    Parameters
    ----------
    first, second : array_like of float, shape (n_evaluations,)
        Finite figures of the same evaluations, in the same order.

    Returns
    -------
    tuple of ndarray of float, shape (2 n_evaluations,)
        First and second.

    References
    ----------
    A. V. Thapliyal et al. (2022), Crossmodal-3600, section 5.
    """
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return np.concatenate([x, -x]), np.concatenate([y, -y])


def correlation(
    first: ArrayLike, second: ArrayLike, *, coefficient: Coefficient, flip: bool, weights: ArrayLike | None = None
) -> float:
    """A coefficient over evaluations, each one point, or two with `flip`.

    Parameters
    ----------
    first, second : array_like of float, shape (n_evaluations,)
        Finite figures of the same evaluations, in the same order.
    coefficient : Coefficient
    flip : bool
        Whether each evaluation also gives the point with both signs flipped.
    weights : array_like of float, shape (n_evaluations,), or None
        How often each evaluation counts, such as its images; those of weight 0 are left out. None for once each.

    Returns
    -------
    float
        From −1 to 1, dimensionless.

    Raises
    ------
    ValueError, UndefinedFigureError
        As the coefficient's own function; with a single evaluation, whose two points always lie on a line; and with
        `flip` where one of the two is the same in every evaluation: with its mirror image it varies, but only by which
        model was called the base (ours).
    """
    if np.size(first) < 2:
        raise UndefinedFigureError(UndefinedReason.TOO_FEW_POINTS, "There are fewer than two evaluations.")
    x, y = both_finite(first, second)
    counts = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    is_used = counts > 0
    if not is_used.all():
        return correlation(x[is_used], y[is_used], coefficient=coefficient, flip=flip, weights=counts[is_used])
    if flip and (is_constant(x) or is_constant(y)):
        raise UndefinedFigureError(
            UndefinedReason.SAME_IN_ALL_EVALUATIONS, "One of the two is the same in every evaluation."
        )
    if flip:
        (x, y), counts = flipped(x, y), np.concatenate([counts, counts])
    if is_constant(counts):
        return FUNCTIONS[coefficient](x, y)
    return _weighted(x, y, counts, coefficient)


def ranks(values: ArrayLike, weights: ArrayLike | None = None) -> Points:
    """Ranks from 1, the smallest first, equal values sharing the mean of theirs.

    Parameters
    ----------
    values : array_like of float, shape (n,)
    weights : array_like of float, shape (n,), or None
        How often each value comes. None for once each.

    Returns
    -------
    ndarray of float, shape (n,)
    """
    place = np.unique(np.asarray(values, dtype=float), return_inverse=True)[1]
    times = np.bincount(place, None if weights is None else np.asarray(weights, dtype=float))
    return np.asarray((times.cumsum() - (times - 1) / 2)[place], dtype=float)


def both_finite(first: ArrayLike, second: ArrayLike) -> tuple[Points, Points]:
    """Two columns of points as arrays.

    Parameters
    ----------
    first, second : array_like of float, shape (n_points,)
        Finite figures of the same things, in the same order.

    Returns
    -------
    tuple of ndarray of float, shape (n_points,)

    Raises
    ------
    ValueError
        If the lengths differ or a figure is not finite.
    """
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"Two lists of equally many figures are needed, not of shapes {x.shape} and {y.shape}.")
    finite = np.isfinite(x) & np.isfinite(y)
    if not finite.all():
        raise ValueError(f"Point {int(np.flatnonzero(~finite)[0])} has a figure that is not finite.")
    if len(x) < 2:
        raise UndefinedFigureError(UndefinedReason.TOO_FEW_POINTS, "There are fewer than two points.")
    return x, y


def is_constant(values: Points) -> bool:
    """Whether all values are the same, or there is none.

    Parameters
    ----------
    values : ndarray of float, shape (n,)

    Returns
    -------
    bool
    """
    return bool((values == values[0]).all())


def centred(values: Points) -> Points:
    """Around the mean and at most 1 in size, so that neither sums nor squares lose digits or overflow.

    Parameters
    ----------
    values : ndarray of float, shape (n,)

    Returns
    -------
    ndarray of float, shape (n,)

    Raises
    ------
    UndefinedFigureError
        Where all are equal.
    """
    if is_constant(values):
        raise UndefinedFigureError(UndefinedReason.ALL_VALUES_EQUAL, "One of the two has the same value throughout.")
    # By a power of two, which rounds nothing; any other scale would before the values are centred.
    near_zero = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    # Twice, since the mean of large numbers is rounded itself.
    for _again in range(2):
        near_zero = near_zero - near_zero.mean()
    return np.asarray(near_zero / np.abs(near_zero).max(), dtype=float)


def _weighted(x: Points, y: Points, weights: Points, coefficient: Coefficient) -> float:
    """A coefficient as of points that come as often as their weights say."""
    if coefficient == Coefficient.MATTHEWS:
        x, y = (x > 0).astype(float), (y > 0).astype(float)
        if is_constant(x) or is_constant(y):
            raise UndefinedFigureError(UndefinedReason.ONE_SIGN_ONLY, "One of the two is better throughout, or never.")
    if coefficient == Coefficient.SPEARMAN:
        x, y = ranks(x, weights), ranks(y, weights)
    x, y = centred(x), centred(y)
    if coefficient == Coefficient.KENDALL:
        return _weighted_kendall(x, y, weights)
    x, y = (values - weights @ values / weights.sum() for values in (x, y))
    root = np.sqrt(weights)
    return _product_moment(root * x, root * y)


def _weighted_kendall(x: Points, y: Points, weights: Points) -> float:
    together = 0.0
    at_once = max(1, CELLS_AT_ONCE // len(x))
    for start in range(0, len(x), at_once):
        rows = slice(start, start + at_once)
        of_x, of_y = (np.sign(np.subtract.outer(values[rows], values)) for values in (x, y))
        together += float(weights[rows] @ (of_x * of_y) @ weights)
    return max(-1.0, min(1.0, together / math.sqrt(_untied(x, weights) * _untied(y, weights))))


def _untied(values: Points, weights: Points) -> float:
    """The weight of the ordered pairs of points that differ."""
    alike = np.bincount(np.unique(values, return_inverse=True)[1], weights)
    return float(weights.sum() ** 2 - alike @ alike)


def _product_moment(x: Points, y: Points) -> float:
    return max(-1.0, min(1.0, float(x @ y / math.sqrt(float(x @ x) * float(y @ y)))))


def _ratio(together: int, first: int, second: int) -> float:
    """`together` by the geometric mean of the other two, from whole numbers, so that nothing is rounded before."""
    if not first or not second:
        raise UndefinedFigureError(UndefinedReason.ALL_VALUES_EQUAL, "One of the two has the same value throughout.")
    return max(-1.0, min(1.0, together / math.sqrt(first * second)))


def _pairs_within(groups: NDArray[np.int_]) -> int:
    """How many pairs of points are in the same group."""
    times = np.unique(groups, return_counts=True)[1].astype(np.int64)
    return int((times * (times - 1) // 2).sum())


def _inversions(places: NDArray[np.int_]) -> int:
    """How many pairs stand in falling order: merge sort, all merges of one width at once."""
    beyond = int(places.max()) + 1
    blocks = np.full((1 << (len(places) - 1).bit_length(), 1), beyond, dtype=np.int64)
    blocks[: len(places), 0] = places
    falling = 0
    while len(blocks) > 1:
        left, right = blocks[0::2], blocks[1::2]
        width = left.shape[1]
        # Each block gets an offset of its own, so that one search serves all.
        apart = (np.arange(len(left)) * (beyond + 1))[:, None]
        not_above = np.searchsorted((left + apart).ravel(), (right + apart).ravel(), side="right")
        falling += width * right.size - int((not_above - np.repeat(np.arange(len(left)) * width, width)).sum())
        blocks = np.sort(np.concatenate([left, right], axis=1), axis=1)
    return falling
