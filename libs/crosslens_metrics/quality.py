"""How good rated captions are: medians of ratings, shares with intervals, agreement, raters against the median.

Ratings are codes: the place of a level in `LEVELS`. Tables are in long form, one row for each rating.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.agreement import alpha_of_ratings
from crosslens_metrics.sampling.intervals import Interval, wilson_interval
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

LEVELS = ("NOT-ENOUGH-INFO", "BAD", "MEDIUM", "GOOD", "EXCELLENT")
"""From the lowest; the first is no place on the scale but says that there is none."""
NOT_ENOUGH_INFO, BAD, MEDIUM, GOOD, EXCELLENT = range(len(LEVELS))
CODES: Mapping[str, int] = {level: code for code, level in enumerate(LEVELS)}


@dataclass(frozen=True)
class CaptionShare:
    """How many of all verified captions, with Wilson's 95% interval; no value where there is no caption."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        return wilson_interval(self.count, self.of) if self.of else None


@dataclass(frozen=True)
class QualityCounts:
    """A row of the quality table. Those of which nothing could be said are among all captions, and in no share."""

    levels: tuple[int, ...]
    """How many captions came out at each of LEVELS."""

    @property
    def captions(self) -> int:
        return sum(self.levels)

    @property
    def good_or_better(self) -> CaptionShare:
        return CaptionShare(self.levels[GOOD] + self.levels[EXCELLENT], self.captions)

    @property
    def medium_or_better(self) -> CaptionShare:
        return CaptionShare(sum(self.levels[MEDIUM:]), self.captions)

    @property
    def bad(self) -> CaptionShare:
        return CaptionShare(self.levels[BAD], self.captions)

    @property
    def not_enough_info(self) -> CaptionShare:
        return CaptionShare(self.levels[NOT_ENOUGH_INFO], self.captions)


def median_rating(ratings: Sequence[int]) -> int:
    """`medians` of the ratings of one caption.

    Parameters
    ----------
    ratings : sequence of int
        Places in `LEVELS`; at least one.

    Returns
    -------
    int
        A place in `LEVELS`.
    """
    return int(medians(np.zeros(len(ratings), dtype=int), ratings)[1][0])


def medians(captions: ArrayLike, ratings: ArrayLike) -> tuple[NDArray[np.generic], NDArray[np.int_]]:
    """What the ratings of each caption come to.

    NOT-ENOUGH-INFO where more than half of the raters say so (two or more of three); otherwise the median of the other
    ratings, of an even number of them the lower of the middle two.

    Parameters
    ----------
    captions : array_like of int or str, shape (n_ratings,)
        What was rated.
    ratings : array_like of int, shape (n_ratings,)
        Places in `LEVELS`.

    Returns
    -------
    captions, medians : ndarray, shape (n_captions,)
        Each caption once, in ascending order, and its place in `LEVELS`.

    Raises
    ------
    ValueError
        If a rating has no caption, a caption no rating, or a code is none of a level.
    """
    units, given = _long_form(captions, ratings)
    rated, unit_of, sizes = np.unique(units, return_inverse=True, return_counts=True)
    in_order = given[np.lexsort((given, unit_of))]
    unknown = np.bincount(unit_of[given == NOT_ENOUGH_INFO], minlength=len(rated))
    # The code of NOT-ENOUGH-INFO is the lowest, so the others of a caption come after these.
    middle = np.cumsum(sizes) - sizes + unknown + (sizes - unknown - 1) // 2
    says_nothing = 2 * unknown > sizes
    return rated, np.where(says_nothing, NOT_ENOUGH_INFO, in_order[np.where(says_nothing, 0, middle)])


def quality_of(captions: ArrayLike, ratings: ArrayLike) -> QualityCounts:
    """The row of the quality table that these ratings give; arguments as of `medians`.

    Parameters
    ----------
    captions : array_like of int, shape (n_ratings,)
        Which caption was rated.
    ratings : array_like of int, shape (n_ratings,)
        Places in `LEVELS`.

    Returns
    -------
    Quality
        Counts of captions, with their shares.
    """
    counts = np.bincount(medians(captions, ratings)[1], minlength=len(LEVELS))
    return QualityCounts(tuple(int(count) for count in counts))


def ordinal_alpha(captions: ArrayLike, ratings: ArrayLike) -> float | UndefinedReason:
    """Krippendorff's alpha of the ratings on their scale, or why there is none; NOT-ENOUGH-INFO counts as no rating.

    Parameters
    ----------
    captions : array_like of int, shape (n_ratings,)
        Which caption was rated.
    ratings : array_like of int, shape (n_ratings,)
        Places in `LEVELS`.

    Returns
    -------
    float or Reason
        Dimensionless, at most 1; 0 is chance.
    """
    units, given = _long_form(captions, ratings)
    on_scale = given != NOT_ENOUGH_INFO
    try:
        return alpha_of_ratings(units[on_scale], given[on_scale], level="ordinal")
    except UndefinedFigureError as undefined:
        return undefined.reason


def confusions(captions: ArrayLike, raters: ArrayLike, ratings: ArrayLike) -> dict[int, NDArray[np.int_]]:
    """For each rater how often they said what (rows) where all raters together came to what (columns), by `LEVELS`.

    A rater's own rating is among those that the median is made of.

    Parameters
    ----------
    captions, raters : array_like of int, shape (n_ratings,)
        Which caption was rated, and by whom.
    ratings : array_like of int, shape (n_ratings,)
        Places in `LEVELS`.

    Returns
    -------
    dict of int to ndarray of int, shape (n_levels, n_levels)
        By rater.
    """
    units, given = _long_form(captions, ratings)
    rated, together = medians(units, given)
    came_to = together[np.searchsorted(rated, units)]
    people, person_of = np.unique(np.asarray(raters), return_inverse=True)
    table = np.zeros((len(people), len(LEVELS), len(LEVELS)), dtype=np.int_)
    np.add.at(table, (person_of, given, came_to), 1)
    return dict(zip(people.tolist(), table, strict=True))


def _long_form(captions: ArrayLike, ratings: ArrayLike) -> tuple[NDArray[np.generic], NDArray[np.int_]]:
    units, given = np.asarray(captions), np.asarray(ratings, dtype=np.int_)
    if given.ndim != 1 or units.shape != given.shape:
        raise ValueError(f"A caption for each rating is needed, not arrays of shapes {units.shape} and {given.shape}.")
    if len(given) and (given.min() < 0 or given.max() >= len(LEVELS)):
        raise ValueError(f"A rating is a place in LEVELS, from 0 to {len(LEVELS) - 1}.")
    return units, given
