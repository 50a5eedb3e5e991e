"""Whether one model is better than another on the same images: paired bootstrap and permutation over images.

Few images are not resampled: they are exchanged in all ways, and the interval of a mean is Student's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import FEW_IMAGES, LEVEL, SAME_WITHIN, Interval, mean_interval
from crosslens_metrics.sampling.resampling import CELLS_AT_ONCE, interval_of, resample_weights, sums_by_group
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

METHODS = ("bootstrap", "permutation")
MIN_RESAMPLED = 8
"""Fewer images than this are not resampled. Below `FEW_IMAGES` they are only where there is no other interval, and p is
not from resamples: of five images, the bootstrap finds a difference of equal models in 15%, and its interval holds the
truth in 80%; of 16 in 7% and 90% (docs/statistics.md)."""
MAX_UNITS = 10_000
"""(ours) More images than this are put together at random into so many groups before they are resampled."""

Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class PairedDifference:
    """What the first is better by, its 95% interval, both in the metric's unit, and a two-sided p-value.

    `method` is what p is from. `smallest_p` is the smallest that these images could have given. Without an interval,
    `why_no_interval` says why.
    """

    difference: float
    interval: Interval | None
    p: float
    method: str
    smallest_p: float
    why_no_interval: UndefinedReason | None = None

    @property
    def can_be_significant(self) -> bool:
        return self.smallest_p <= 1 - LEVEL


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    method: str,
    resamples: int,
    rng: np.random.Generator,
    are_independent: bool = True,
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
        With fewer than `FEW_IMAGES` images p is always from the permutation, and the interval is Student's.
    resamples : int
        Sampled p-values are (1 + hits) / (1 + resamples): never zero.
    rng : numpy.random.Generator
    are_independent : bool
        Whether an image has the same figure whatever the other images are. Those of CIDEr depend on them if document
        frequencies are of their references: then fewer than `MIN_RESAMPLED` images have no interval, and others that
        of the bootstrap.

    Returns
    -------
    PairedDifference
        In the unit of the figures.

    Raises
    ------
    ValueError
        If the lengths differ, a figure is not finite, or there is no such method.
    UndefinedFigureError
        With one image or none; where p is from the bootstrap, also where all images differ by the same amount:
        resampling shows nothing.

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
    found = paired_difference_of_sums(
        np.stack([one, count], axis=1),
        np.stack([other, count], axis=1),
        statistic=lambda sums: sums[:, 0] / sums[:, 1],
        method=method,
        resamples=resamples,
        rng=rng,
    )
    is_students = are_independent and len(one) < FEW_IMAGES
    return _with_students_interval(found, one - other) if is_students else found


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
        In the unit of the statistic; without an interval where there are fewer than `MIN_RESAMPLED` images.
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
    if len(one) < 2:
        raise UndefinedFigureError(UndefinedReason.NO_VARIATION, "One image does not show how much they vary.")
    images = len(one)
    one, other = sums_by_group(one, other, groups=MAX_UNITS, rng=rng)
    totals = np.stack([one.sum(axis=0), other.sum(axis=0)])
    figures = statistic(totals)
    difference = float(figures[0] - figures[1])
    if not np.isfinite(difference):
        raise ValueError("The statistic of all images is not finite.")
    rounding = SAME_WITHIN * float(np.abs(figures).max())
    interval, why_none = None, UndefinedReason.FEW_IMAGES
    is_bootstrap = method == "bootstrap" and images >= FEW_IMAGES
    if images >= MIN_RESAMPLED:
        resampled = _bootstrapped(one, other, statistic, resamples, rng)
        if np.nanmax(resampled) - np.nanmin(resampled) > rounding:
            interval = interval_of(resampled).of(_over_images(Method.BOOTSTRAP, images))
        elif is_bootstrap:
            raise UndefinedFigureError(
                UndefinedReason.NO_VARIATION, "All images differ by the same: resampling them shows nothing."
            )
        why_none = UndefinedReason.NO_VARIATION
        if is_bootstrap:
            p = _share(resampled - difference, difference, rounding)
            return PairedDifference(difference, interval, p, method, 1 / (1 + resamples))
    if images < MIN_RESAMPLED or (images < 60 and 2**images <= resamples):
        ways = (np.arange(2**images)[:, None] >> np.arange(images)) & 1
        by_chance = _exchanged(totals, other - one, ways.astype(float), statistic)
        # The observed way is one of them.
        p = _hits(by_chance, difference, rounding) / len(by_chance)
        smallest = _hits(by_chance, float(np.nanmax(np.abs(by_chance))), rounding) / len(by_chance)
    else:
        coins = _coins(len(one), resamples, rng)
        by_chance = np.concatenate([_exchanged(totals, other - one, tossed, statistic) for tossed in coins])
        p, smallest = _share(by_chance, difference, rounding), 1 / (1 + resamples)
    return PairedDifference(difference, interval, p, "permutation", smallest, None if interval else why_none)


def _with_students_interval(found: PairedDifference, apart: NDArray[np.float64]) -> PairedDifference:
    try:
        interval = mean_interval(float(apart.sum()), float(apart @ apart), len(apart))
    except UndefinedFigureError as undefined:
        return replace(found, why_no_interval=undefined.reason)
    return replace(found, interval=interval.of(_over_images(Method.STUDENT, len(apart))), why_no_interval=None)


def _over_images(method: Method, images: int) -> SamplingDesign:
    return SamplingDesign(method, {Factor.IMAGE: images}, {Factor.MODEL: 2})


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
