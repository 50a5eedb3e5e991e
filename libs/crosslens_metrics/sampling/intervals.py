"""Intervals: of shares exactly or by a score, of anything else from resamples or by Student's t."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

from crosslens_metrics.sampling.designs import SamplingDesign
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95
NORMAL_QUANTILE = NormalDist().inv_cdf(0.5 + LEVEL / 2)
POWER = 0.8
"""The chance with which so many images are to be enough, or a design is to see a gain."""
IMAGES_FOR_POWER = ((NORMAL_QUANTILE + NormalDist().inv_cdf(POWER)) / NORMAL_QUANTILE) ** 2
"""How many times as many images that takes as an interval that would end at zero, which half of all samples miss."""
FEW_IMAGES = 20
"""(ours) Images below which resamples claim too much: beside those of the most frequent kind, where there are kinds."""
SAME_WITHIN = 1e-12
"""Of 1, or of a larger figure: closer ones are the same, since sums of floats differ with their order."""


@dataclass(frozen=True)
class Interval:
    """A 95% interval, in the unit of its figure, and the design from which it follows what it generalises to."""

    low: float
    high: float
    design: SamplingDesign | None = field(default=None, compare=False)

    @property
    def width(self) -> float:
        return self.high - self.low

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def of(self, design: SamplingDesign) -> Interval:
        return replace(self, design=design)

    def times(self, unit: float) -> Interval:
        """In another unit, such as percent."""
        return replace(self, low=unit * self.low, high=unit * self.high)

    def within(self, least: float, most: float) -> Interval:
        """Cut to the ends of its scale, which Student's interval ignores."""
        return replace(self, low=max(least, self.low), high=min(most, self.high))


def percentile_interval(resampled: ArrayLike) -> Interval:
    """The 95% interval of a figure: the middle 95% of what resamples of its units gave.

    Parameters
    ----------
    resampled : array_like of float, shape (n_resamples,)
        Finite.

    Returns
    -------
    Interval
        In the unit of the figure.

    Raises
    ------
    UndefinedFigureError
        Where all resamples gave the same, as those of one unit do: an interval without width would claim certainty.
    """
    import numpy as np

    figures = np.asarray(resampled, dtype=float)
    if np.ptp(figures) <= SAME_WITHIN * max(1.0, float(np.abs(figures).max())):
        raise UndefinedFigureError(
            UndefinedReason.NO_VARIATION, "Every resample gives the same: resampling shows nothing."
        )
    return middle_of(figures)


def middle_of(values: ArrayLike) -> Interval:
    """The middle 95% of values.

    Parameters
    ----------
    values : array_like of float, shape (n_values,)

    Returns
    -------
    Interval
        Without width where all values are the same.
    """
    import numpy as np

    low, high = np.quantile(np.asarray(values, dtype=float), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))


def share_bounds(successes: ArrayLike, trials: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The exact (Clopper-Pearson) 95% interval of each of many shares.

    Exact rather than Wilson's, whose coverage falls below 95% for some shares and sizes: these intervals may speak
    against a person, so they are to err on the wide side.

    Parameters
    ----------
    successes, trials : array_like of float, shape (n_shares,)
        0 ≤ successes ≤ trials.

    Returns
    -------
    low, high : ndarray of float, shape (n_shares,)
        Shares from 0 to 1. Where there is no trial, the whole of [0, 1].

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934), The use of confidence or fiducial limits.
    """
    # Pages and tables need the type of an interval; SciPy takes longer to import than Django.
    import numpy as np
    import scipy

    successes, trials = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    failures = trials - successes
    tail = (1 - LEVEL) / 2
    # The quantile does not exist for zero successes or zero failures, where the bound is the end of the scale.
    some, others = np.where(successes > 0, successes, 1), np.where(failures > 0, failures, 1)
    low = np.where(successes > 0, scipy.special.betaincinv(some, failures + 1, tail), 0.0)
    high = np.where(failures > 0, scipy.special.betaincinv(successes + 1, others, 1 - tail), 1.0)
    return low, high


def share_interval(successes: int, trials: int) -> Interval:
    """`share_bounds` of one share.

    Parameters
    ----------
    successes, trials : int
        0 ≤ successes ≤ trials, and at least one trial.

    Returns
    -------
    Interval
        Within 0 to 1.
    """
    low, high = share_bounds([successes], [trials])
    return Interval(float(low[0]), float(high[0]))


def wilson_interval(successes: int, trials: int) -> Interval:
    """Wilson's 95% score interval of a share, without correction for continuity: for shares of samples, on tables.

    Parameters
    ----------
    successes, trials : int
        As for `share_interval`.

    Returns
    -------
    Interval
        Within 0 to 1.

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    if not 0 <= successes <= trials or not trials:
        raise ValueError(f"{successes} of {trials} is no share.")
    square = NORMAL_QUANTILE**2
    centre = successes + square / 2
    reach = NORMAL_QUANTILE * math.sqrt(successes * (trials - successes) / trials + square / 4)
    # At the ends the bound is the end itself, which rounding misses.
    low = (centre - reach) / (trials + square) if successes else 0.0
    high = (centre + reach) / (trials + square) if successes < trials else 1.0
    return Interval(low, high)


def paired_interval(first: float, second: float, pairs: float) -> Interval:
    """A conservative 95% interval of the difference of two shares of the same pairs, as WINS − LOSSES is one.

    Clopper and Pearson's of the first's share among decided pairs, times the bound of the share of decided pairs that
    makes it wider. It leaves out zero where the sign test does.

    Parameters
    ----------
    first, second : float
        Pairs for the one and for the other; the rest are for neither.
    pairs : float
        Above 0. Where pairs are not independent, all three may be parts of the numbers that there are.

    Returns
    -------
    Interval
        Within −1 to 1.

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934), The use of confidence or fiducial limits.
    """
    if min(first, second) < 0 or first + second > pairs * (1 + SAME_WITHIN) or not pairs:
        raise ValueError(f"{first} and {second} of {pairs} are no shares.")
    # Of parts of numbers the sum may pass their whole by what rounding makes.
    both = min(first + second, pairs)
    (of_first, decided), (of_first_high, decided_high) = share_bounds([first, both], [first + second, pairs])
    low, high = 2 * float(of_first) - 1, 2 * float(of_first_high) - 1
    return Interval(
        low * float(decided if low > 0 else decided_high), high * float(decided_high if high > 0 else decided)
    )


def mean_interval(total: float, squares: float, number: int) -> Interval:
    """Student's 95% interval of a mean of independent observations.

    Parameters
    ----------
    total, squares : float
        The sums of the observations and of their squares.
    number : int
        How many observations there are.

    Returns
    -------
    Interval
        In the unit of the observations.

    Raises
    ------
    UndefinedFigureError
        With fewer than two observations, or where all are the same: an interval without width would claim certainty.
    """
    if number < 2:
        raise UndefinedFigureError(UndefinedReason.NO_VARIATION, "One observation does not show how much they vary.")
    mean = total / number
    variance = (squares - number * mean**2) / (number - 1)
    # Below this it is what rounding left of a difference of squares.
    return student_interval(mean, variance / number if variance > 1e-12 else 0.0, number - 1)


def student_interval(value: float, variance: float, degrees_of_freedom: float) -> Interval:
    """The 95% interval around a figure by Student's t.

    Parameters
    ----------
    value : float
    variance : float
        Of the figure.
    degrees_of_freedom : float

    Returns
    -------
    Interval
        In the unit of the figure.

    Raises
    ------
    UndefinedFigureError
        Without variance: an interval without width would claim certainty.
    """
    if math.sqrt(variance) <= SAME_WITHIN * max(1.0, abs(value)):
        raise UndefinedFigureError(UndefinedReason.NO_VARIATION, "All units say the same: they show no uncertainty.")
    half = student_reach(variance, degrees_of_freedom)
    return Interval(value - half, value + half)


def student_reach(variance: float, degrees_of_freedom: float) -> float:
    """Half the width of `student_interval`, in the unit of the figure."""
    return float(student_quantile(degrees_of_freedom)) * math.sqrt(variance)


def student_quantile(degrees_of_freedom: ArrayLike) -> NDArray[np.float64]:
    """How many standard errors a 95% interval reaches to either side.

    Parameters
    ----------
    degrees_of_freedom : array_like of float
        Above 0; may be infinite.

    Returns
    -------
    ndarray of float
    """
    import numpy as np
    import scipy

    # SciPy's has no value for infinitely many degrees of freedom.
    return np.asarray(scipy.special.stdtrit(np.minimum(degrees_of_freedom, 1e9), 0.5 + LEVEL / 2), dtype=float)
