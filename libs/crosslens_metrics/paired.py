"""Whether one model is better than another on the same images: paired bootstrap and permutation over images."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.sampling.intervals import SAME_WITHIN, Interval
from crosslens_metrics.sampling.resampling import CELLS_AT_ONCE, interval_of, resample_weights, sums_by_group
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

METHODS = ("bootstrap", "permutation")
MAX_UNITS = 10_000
"""(ours) More images than this are put together at random into so many groups before they are resampled."""

Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class PairedDifference:
    """What the first is better by, its 95% bootstrap interval, both in the metric's unit, and a two-sided p-value.

    No interval where all images differ by the same, which a permutation can test nonetheless.
    """

    difference: float
    interval: Interval | None
    p: float


def paired_difference(
    first: ArrayLike, second: ArrayLike, *, method: str, resamples: int, rng: np.random.Generator
) -> PairedDifference:
    """The difference of two means over the same images, with what it is worth.

    Parameters
    ----------
    first, second : array_like of float, shape (n_images,)
        The figure of each image from either model, in the same order.
    method : {"bootstrap", "permutation"}
        Where the p-value comes from. The interval is from the bootstrap in either case.
        "permutation": how often a difference at least as large comes from exchanging the two models' figures of each
        image by the toss of a coin; exact where all ways to do so are no more than `resamples`.
        "bootstrap": how often a resample of the images is at least as far from the difference as that is from zero.
    resamples : int
        Sampled p-values are (1 + hits) / (1 + resamples): never zero.
    rng : numpy.random.Generator

    Returns
    -------
    PairedDifference
        In the unit of the figures.

    Raises
    ------
    ValueError
        If the lengths differ, a figure is not finite, or there is no such method.
    UndefinedFigureError
        Without images; with "bootstrap" also where all images differ by the same amount: resampling shows nothing.

    Notes
    -----
    Beyond `MAX_UNITS` images, they are put together at random into that many groups, as equal in number as can be, so
    that the cost no longer grows with the images. Both methods stay valid for groups.

    References
    ----------
    P. Koehn (2004), Statistical significance tests for machine translation evaluation.
    E. W. Noreen (1989), Computer-Intensive Methods for Testing Hypotheses.
    """
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if one.ndim != 1 or one.shape != other.shape:
        raise ValueError(f"Two lists of equally many figures are needed, not of shapes {one.shape} and {other.shape}.")
    count = np.ones(len(one))
    return paired_difference_of_sums(
        np.stack([one, count], axis=1),
        np.stack([other, count], axis=1),
        statistic=lambda sums: sums[:, 0] / sums[:, 1],
        method=method,
        resamples=resamples,
        rng=rng,
    )


def paired_difference_of_sums(
    first: ArrayLike,
    second: ArrayLike,
    *,
    statistic: Statistic,
    method: str,
    resamples: int,
    rng: np.random.Generator,
) -> PairedDifference:
    """`paired_difference` of a figure that is no mean, but follows from sums over images, as BLEU does.

    Parameters
    ----------
    first, second : array_like of float, shape (n_images, n_sums)
        What each image adds to the sums of either model: matches, lengths and so on.
    statistic : callable
        From sums, shape (n_some, n_sums), to the figure of each row, shape (n_some,).
    method, resamples, rng
        As `paired_difference`.

    Returns
    -------
    PairedDifference
        In the unit of the statistic.
    """
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if one.ndim != 2 or one.shape != other.shape:
        raise ValueError(f"Two tables of one shape are needed, not of shapes {one.shape} and {other.shape}.")
    for name, table in (("first", one), ("second", other)):
        if not np.isfinite(table).all():
            index = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
            raise ValueError(f"Image {index} has a figure that is not finite in the {name} list.")
    if method not in METHODS:
        raise ValueError(f"method is one of {', '.join(METHODS)}, not {method!r}.")
    if not len(one):
        raise UndefinedFigureError(UndefinedReason.NO_IMAGES, "There is no image that both models described.")
    one, other = sums_by_group(one, other, groups=MAX_UNITS, rng=rng)
    totals = np.stack([one.sum(axis=0), other.sum(axis=0)])
    figures = statistic(totals)
    difference = float(figures[0] - figures[1])
    if not np.isfinite(difference):
        raise ValueError("The statistic of all images is not finite.")
    rounding = SAME_WITHIN * float(np.abs(figures).max())
    resampled = _bootstrapped(one, other, statistic, resamples, rng)
    is_same = np.nanmax(resampled) - np.nanmin(resampled) <= rounding
    if is_same and (method == "bootstrap" or len(one) < 2):
        raise UndefinedFigureError(
            UndefinedReason.NO_VARIATION, "All images differ by the same: resampling them shows nothing."
        )
    interval = None if is_same else interval_of(resampled)
    if method == "bootstrap":
        return PairedDifference(difference, interval, _share(resampled - difference, difference, rounding))
    if len(one) < 60 and 2 ** len(one) <= resamples:
        ways = (np.arange(2 ** len(one))[:, None] >> np.arange(len(one))) & 1
        exchanged = _exchanged(totals, other - one, ways.astype(float), statistic)
        # The observed way is one of them.
        return PairedDifference(difference, interval, _hits(exchanged, difference, rounding) / len(exchanged))
    tossed = [_exchanged(totals, other - one, coins, statistic) for coins in _coins(len(one), resamples, rng)]
    return PairedDifference(difference, interval, _share(np.concatenate(tossed), difference, rounding))


def _bootstrapped(
    one: NDArray[np.float64],
    other: NDArray[np.float64],
    statistic: Statistic,
    resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    return np.concatenate(
        [
            statistic(weights @ one) - statistic(weights @ other)
            for weights in resample_weights(len(one), resamples=resamples, rng=rng)
        ]
    )


def _coins(units: int, resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    at_once = max(1, CELLS_AT_ONCE // units)
    for start in range(0, resamples, at_once):
        size = (min(at_once, resamples - start), units)
        yield rng.integers(0, 2, size=size, dtype=np.uint8).astype(float)


def _exchanged(
    totals: NDArray[np.float64], gained: NDArray[np.float64], coins: NDArray[np.float64], statistic: Statistic
) -> NDArray[np.float64]:
    """The difference where the two models are exchanged on the images whose coin is 1."""
    moved = coins @ gained
    return statistic(totals[0] + moved) - statistic(totals[1] - moved)


def _hits(by_chance: NDArray[np.float64], difference: float, rounding: float) -> int:
    # Written so that a resample without a figure counts as a hit, which errs towards no difference.
    return int((~(np.abs(by_chance) < abs(difference) - rounding)).sum())


def _share(by_chance: NDArray[np.float64], difference: float, rounding: float) -> float:
    return (1 + _hits(by_chance, difference, rounding)) / (1 + len(by_chance))
