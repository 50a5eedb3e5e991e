"""The exact sign test, and whether raters say the same of a pair that is shown again with its sides swapped."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason


def sign_test(wins: int, losses: int) -> float:
    """The p-value of the exact two-sided sign test over the decided images.

    It is the probability of at least so uneven a split were wins and losses equally likely: by symmetry, twice the
    smaller tail of the binomial distribution. `scipy.stats.binomtest` gives the same, but its import alone takes longer
    than a whole report.

    Parameters
    ----------
    wins, losses : int
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
    if wins + losses < 1:
        raise UndefinedFigureError(UndefinedReason.NO_DECIDED, "No image was decided either way.")
    return min(1.0, 2 * float(scipy.special.bdtr(min(wins, losses), wins + losses, 0.5)))


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
