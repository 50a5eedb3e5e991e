"""How far people agree who rated the same without knowing of each other: of all of them, and of each with the rest.

Two figures that answer different questions: how often a pair of raters said exactly the same, and how far they agree
beyond chance where levels that are close to each other count as nearly the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.quality import LEVELS, ordinal_alpha
from crosslens_metrics.undefined import UndefinedReason


@dataclass(frozen=True)
class RatingAgreement:
    """`things` were rated by two people or more, who make `pairs`, of which `same` said exactly the same."""

    things: int
    pairs: int
    same: int
    alpha: float | UndefinedReason
    """Krippendorff's, ordinal; NOT-ENOUGH-INFO is no place on the scale and counts as no rating in it."""

    @property
    def exact(self) -> float | None:
        return self.same / self.pairs if self.pairs else None


def agreement(things: ArrayLike, ratings: ArrayLike) -> RatingAgreement:
    """Of ratings in long form, one row each.

    Parameters
    ----------
    things : array_like of int, shape (n_ratings,)
        What was rated.
    ratings : array_like of int, shape (n_ratings,)
        Places in `crosslens_metrics.quality.LEVELS`.

    Returns
    -------
    RatingAgreement
    """
    rated, given = np.asarray(things), np.asarray(ratings, dtype=np.int_)
    counts = _counts(rated, given)
    several = counts.sum(axis=1) >= 2
    return RatingAgreement(
        things=int(several.sum()),
        pairs=int(_pairs(counts.sum(axis=1)).sum()),
        same=int(_pairs(counts).sum()),
        alpha=ordinal_alpha(rated, given),
    )


def agreement_of_each(things: ArrayLike, raters: ArrayLike, ratings: ArrayLike) -> dict[int, RatingAgreement]:
    """For each rater, with the others who rated the same: only pairs in which they are count.

    Alpha is of all ratings of the things that they rated. Nobody rates a thing twice.

    Parameters
    ----------
    things, raters : array_like of int, shape (n_ratings,)
        What was rated, and by whom.
    ratings : array_like of int, shape (n_ratings,)
        Places in `crosslens_metrics.quality.LEVELS`.

    Returns
    -------
    dict of int to Agreement
        By rater.
    """
    rated, people, given = np.asarray(things), np.asarray(raters), np.asarray(ratings, dtype=np.int_)
    counts = _counts(rated, given)
    thing_of = np.unique(rated, return_inverse=True)[1]
    others = counts.sum(axis=1)[thing_of] - 1
    alike = counts[thing_of, given] - 1
    agreements = {}
    for person in np.unique(people).tolist():
        own = people == person
        theirs = np.isin(thing_of, thing_of[own])
        agreements[person] = RatingAgreement(
            things=int((others[own] > 0).sum()),
            pairs=int(others[own].sum()),
            same=int(alike[own].sum()),
            alpha=ordinal_alpha(thing_of[theirs], given[theirs]),
        )
    return agreements


def _counts(things: NDArray[np.generic], ratings: NDArray[np.int_]) -> NDArray[np.int_]:
    """How often each thing (rows, in ascending order) was given each level (columns)."""
    rated, thing_of = np.unique(things, return_inverse=True)
    counts = np.zeros((len(rated), len(LEVELS)), dtype=np.int_)
    np.add.at(counts, (thing_of, ratings), 1)
    return counts


def _pairs(numbers: NDArray[np.int_]) -> NDArray[np.int_]:
    return numbers * (numbers - 1) // 2
