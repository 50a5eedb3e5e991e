"""How good rated captions are: medians of ratings, shares with intervals, agreement, raters against others.

Ratings are codes: the place of a level in `LEVELS`. Tables are in long form, one row for each rating.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.agreement import alpha_of_ratings
from crosslens_metrics.sampling.intervals import Interval, wilson_interval
from crosslens_metrics.sampling.variance import ratio_bounds
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

LEVELS = ("NOT-ENOUGH-INFO", "BAD", "MEDIUM", "GOOD", "EXCELLENT")
"""From the lowest; the first is no place on the scale but says that there is none."""
NOT_ENOUGH_INFO, BAD, MEDIUM, GOOD, EXCELLENT = range(len(LEVELS))
CODES: Mapping[str, int] = {level: code for code, level in enumerate(LEVELS)}


@dataclass(frozen=True)
class CaptionShare:
    """How many of all verified captions, with two 95% intervals; no value where there is no caption."""

    count: int
    of: int
    by_author: tuple[tuple[int, int], ...] = ()
    """The same two numbers for each author; nothing where some captions have no known author."""

    @property
    def value(self) -> float | None:
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's, that generalises to other captions of these authors."""
        return wilson_interval(self.count, self.of) if self.of else None

    @property
    def over_authors(self) -> Interval | UndefinedReason | None:
        """That generalises to other authors like these, taken with all their captions; or why there is none.

        Captions of one author are alike: where the share varies among authors, `interval` is much too narrow for this.
        """
        if not self.of:
            return None
        if len(self.by_author) < 2:
            return UndefinedReason.ONE_AUTHOR if self.by_author else UndefinedReason.NO_AUTHORS
        counts, captions = np.array(self.by_author).T
        (low,), (high,) = ratio_bounds(counts[:, None], captions[:, None])
        return Interval(float(low), float(high)) if low < high else UndefinedReason.NO_VARIATION


@dataclass(frozen=True)
class QualityCounts:
    """A row of the quality table. Those of which nothing could be said are among all captions, and in no share."""

    levels: tuple[int, ...]
    """How many captions came out at each of LEVELS."""
    by_author: tuple[tuple[int, ...], ...] = ()
    """The same for each author; nothing where some captions have no known author."""

    @property
    def captions(self) -> int:
        return sum(self.levels)

    @property
    def judged(self) -> QualityCounts:
        """The same without the captions of which nothing could be said."""
        return QualityCounts((0, *self.levels[1:]), tuple((0, *levels[1:]) for levels in self.by_author))

    @property
    def good_or_better(self) -> CaptionShare:
        return self._share(GOOD, EXCELLENT)

    @property
    def medium_or_better(self) -> CaptionShare:
        return self._share(MEDIUM, GOOD, EXCELLENT)

    @property
    def bad(self) -> CaptionShare:
        return self._share(BAD)

    @property
    def not_enough_info(self) -> CaptionShare:
        return self._share(NOT_ENOUGH_INFO)

    def _share(self, *at: int) -> CaptionShare:
        by_author = ((sum(levels[level] for level in at), sum(levels)) for levels in self.by_author)
        count = sum(self.levels[level] for level in at)
        return CaptionShare(count, self.captions, tuple(author for author in by_author if author[1]))


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


def quality_of(captions: ArrayLike, ratings: ArrayLike, authors: ArrayLike | None = None) -> QualityCounts:
    """The row of the quality table that these ratings give; arguments as of `medians`.

    Parameters
    ----------
    captions : array_like of int, shape (n_ratings,)
        Which caption was rated.
    ratings : array_like of int, shape (n_ratings,)
        Places in `LEVELS`.
    authors : array_like of int, shape (n_ratings,), optional
        Who wrote the caption; needed for intervals over authors.

    Returns
    -------
    QualityCounts
        Counts of captions, with their shares.
    """
    together = medians(captions, ratings)[1]
    counts = np.bincount(together, minlength=len(LEVELS))
    by_author = np.zeros((0, len(LEVELS)), dtype=np.int_)
    if authors is not None:
        of_caption = np.asarray(authors)[np.unique(np.asarray(captions), return_index=True)[1]]
        people, person_of = np.unique(of_caption, return_inverse=True)
        by_author = np.zeros((len(people), len(LEVELS)), dtype=np.int_)
        np.add.at(by_author, (person_of, together), 1)
    return QualityCounts(tuple(counts.tolist()), tuple(map(tuple, by_author.tolist())))


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


def medians_of_others(captions: ArrayLike, ratings: ArrayLike) -> NDArray[np.int_]:
    """For each rating, `medians` of the other ratings of its caption.

    A median that a rating is itself part of agrees with it too often: of three raters who answer at random on four
    levels, each is the median of all three 56% of the time, and of the other two 25%.

    Parameters
    ----------
    captions : array_like of int or str, shape (n_ratings,)
        What was rated.
    ratings : array_like of int, shape (n_ratings,)
        Places in `LEVELS`.

    Returns
    -------
    ndarray of int, shape (n_ratings,)
        Places in `LEVELS`; −1 where a caption has no other rating.
    """
    units, given = _long_form(captions, ratings)
    _, unit_of, sizes = np.unique(units, return_inverse=True, return_counts=True)
    order = np.lexsort((given, unit_of))
    rank = np.empty(len(given), dtype=np.int_)
    rank[order] = np.arange(len(given))
    start = (np.cumsum(sizes) - sizes)[unit_of]
    others = sizes[unit_of] - 1
    is_unknown = given == NOT_ENOUGH_INFO
    unknown = np.bincount(unit_of[is_unknown], minlength=len(sizes))[unit_of] - is_unknown
    middle = start + unknown + (others - unknown - 1) // 2
    # In the order of all, the others from the rating itself on come one later.
    middle += middle >= rank
    says_nothing = 2 * unknown > others
    median = np.where(says_nothing, NOT_ENOUGH_INFO, given[order][np.where(says_nothing, 0, middle)])
    return np.where(others > 0, median, -1)


def confusions(captions: ArrayLike, raters: ArrayLike, ratings: ArrayLike) -> dict[int, NDArray[np.int_]]:
    """For each rater how often they said what (rows) where the others came to what (columns), by `LEVELS`.

    Captions that nobody else rated are left out.

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
    came_to = medians_of_others(captions, ratings)
    is_compared = came_to >= 0
    people, person_of = np.unique(np.asarray(raters), return_inverse=True)
    table = np.zeros((len(people), len(LEVELS), len(LEVELS)), dtype=np.int_)
    said = np.asarray(ratings, dtype=np.int_)
    np.add.at(table, (person_of[is_compared], said[is_compared], came_to[is_compared]), 1)
    return dict(zip(people.tolist(), table, strict=True))


def _long_form(captions: ArrayLike, ratings: ArrayLike) -> tuple[NDArray[np.generic], NDArray[np.int_]]:
    units, given = np.asarray(captions), np.asarray(ratings, dtype=np.int_)
    if given.ndim != 1 or units.shape != given.shape:
        raise ValueError(f"A caption for each rating is needed, not arrays of shapes {units.shape} and {given.shape}.")
    if len(given) and (given.min() < 0 or given.max() >= len(LEVELS)):
        raise ValueError(f"A rating is a place in LEVELS, from 0 to {len(LEVELS) - 1}.")
    return units, given
