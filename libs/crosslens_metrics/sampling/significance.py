"""Tests: the exact sign test, Holm's correction of many, and what may be looked at any time while data come in."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.on_first_use import scipy
from crosslens_metrics.sampling.intervals import LEVEL, Interval
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason


def sign_test(wins: float, losses: float) -> float:
    """The p-value of the exact two-sided sign test over the decided images.

    It is the probability of at least so uneven a split were wins and losses equally likely: by symmetry, twice the
    smaller tail of the binomial distribution. `scipy.stats.binomtest` gives the same, but its import alone takes longer
    than a whole report.

    Parameters
    ----------
    wins, losses : float
        Images decided for the one and for the other. Those that are neither do not count.

    Returns
    -------
    float
        A probability, at most 1.

    Raises
    ------
    ValueError
        If a number is negative.
    UndefinedFigureError
        Where no image is decided.

    References
    ----------
    W. J. Dixon and A. M. Mood (1946), The statistical sign test.
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"There are no negative numbers of images: {wins} wins, {losses} losses.")
    if not wins + losses:
        raise UndefinedFigureError(UndefinedReason.NO_DECIDED, "No image was decided either way.")
    return min(1.0, 2 * float(scipy.special.betainc(max(wins, losses), min(wins, losses) + 1, 0.5)))


def count_flips(first: ArrayLike, again: ArrayLike) -> tuple[int, int]:
    """How many repeats have the same sign as the first time (ties are a sign of their own), and how many the opposite.

    The two do not add up to all: a tie once and a side the other time is neither.

    Parameters
    ----------
    first, again : array_like of int, shape (n_repeats,)
        Scores of the test caption against the base caption; the degree does not matter.

    Returns
    -------
    tuple of int
        Of the same sign, and of the opposite one.
    """
    sign_first, sign_again = np.sign(np.asarray(first, dtype=int)), np.sign(np.asarray(again, dtype=int))
    return int((sign_first == sign_again).sum()), int((sign_first * sign_again < 0).sum())


def student_p(value: float, variance: float, degrees_of_freedom: float) -> float:
    """The two-sided p-value of a figure that would be zero, by Student's t.

    Parameters
    ----------
    value, variance : float
        The figure and its variance, above 0.
    degrees_of_freedom : float

    Returns
    -------
    float
        A probability.
    """
    return 2 * float(scipy.special.stdtr(min(degrees_of_freedom, 1e9), -abs(value) / math.sqrt(variance)))


def unanimous_p(units: int, value: float, *, reach: float, alike: float = 1.0) -> float:
    """The two-sided p-value of no mean over other units, where so many have the same value, or nearly.

    Parameters
    ----------
    units : int
        At least one.
    value, reach : float
        What they have, and what a unit can have either way, above 0: `variance.unanimous_interval` of the scale.
    alike : float
        As there.

    Returns
    -------
    float
        At most 1; that of the sign test where they are at an end of the scale.
    """
    apart = alike * (reach + abs(value))
    return min(1.0, 2 * max(0.0, 1 - abs(value) / apart) ** units) if apart else float(not value)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct the p-values of a family of tests so that the chance of one false finding or more stays at the level.

    Parameters
    ----------
    p_values : array_like of float, shape (n_tests,)

    Returns
    -------
    ndarray of float, shape (n_tests,)
        In the same order, at most 1.

    References
    ----------
    S. Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    plain = np.asarray(p_values, dtype=float)
    order = np.argsort(plain, kind="stable")
    corrected = np.empty_like(plain)
    corrected[order] = np.maximum.accumulate(plain[order] * np.arange(len(plain), 0, -1))
    return np.asarray(np.minimum(corrected, 1.0))


def anytime_interval(wins: int, losses: int, images: int) -> Interval:
    """The 95% confidence sequence of a gain: it holds at all looks together, however often somebody looks.

    A difference of chances is in it while the best that it allows explains the outcomes no 20 times worse than the mean
    over all chances does (a Dirichlet mixture with one of each outcome before the first).

    Parameters
    ----------
    wins, losses : int
        Images in favour of either.
    images : int
        All of them, at least one.

    Returns
    -------
    Interval
        Within −1 to 1.

    References
    ----------
    H. Robbins (1970), Statistical methods related to the law of the iterated logarithm.
    L. Wasserman, A. Ramdas and S. Balakrishnan (2020), Universal inference.
    """
    counts = np.array([wins, losses, images - wins - losses])
    if counts.min() < 0 or not images:
        raise ValueError(f"{wins} wins and {losses} losses of {images} images are no outcomes.")
    mixture = float(scipy.special.gammaln(counts + 1).sum() + math.log(2) - scipy.special.gammaln(images + 3))
    threshold = mixture + math.log(1 - LEVEL)

    def excess(difference: float) -> float:
        return _best_likelihood(wins, losses, images - wins - losses, difference) - threshold

    seen = (wins - losses) / images
    low = -1.0 if excess(-1.0) >= 0 else scipy.optimize.brentq(excess, -1.0, seen)
    high = 1.0 if excess(1.0) >= 0 else scipy.optimize.brentq(excess, seen, 1.0)
    return Interval(float(low), float(high))


def _best_likelihood(wins: int, losses: int, neither: int, difference: float) -> float:
    """The largest log-likelihood of the outcomes where the chance of a win is `difference` above that of a loss."""
    if difference < 0:
        return _best_likelihood(losses, wins, neither, -difference)
    # Of the chance of a loss, the derivative is zero at the positive root of a quadratic.
    images = wins + losses + neither
    linear = (wins + losses) * (1 - difference) - 2 * difference * (losses + neither)
    constant = losses * difference * (1 - difference)
    loss = (linear + math.sqrt(linear**2 + 8 * images * constant)) / (4 * images)
    loss = min(max(loss, 0.0), (1 - difference) / 2)
    chances = np.array([loss + difference, loss, max(0.0, 1 - difference - 2 * loss)])
    return float(scipy.special.xlogy([wins, losses, neither], chances).sum())
