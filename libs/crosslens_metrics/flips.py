"""Whether raters say the same when they are shown the same pair again, with the sides swapped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class RepeatFlips:
    """Counts over repeats. Same and opposite do not add up to all: a tie once and a side the other time is neither."""

    repeats: int
    same: int
    opposite: int


def count_flips(first: ArrayLike, again: ArrayLike) -> RepeatFlips:
    """How many repeats have the same sign as the first time (ties are a sign of their own), and how many the opposite.

    Parameters
    ----------
    first, again : array_like of int, shape (n_repeats,)
        Scores of the test caption against the base caption; the degree does not matter.

    Returns
    -------
    Flips
        Counts.
    """
    sign_first, sign_again = np.sign(np.asarray(first, dtype=int)), np.sign(np.asarray(again, dtype=int))
    same = sign_first == sign_again
    opposite = sign_first * sign_again < 0
    return RepeatFlips(len(same), int(same.sum()), int(opposite.sum()))
