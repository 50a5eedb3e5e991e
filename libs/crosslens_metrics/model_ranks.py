"""Ranks of models by one metric, held against their ranks by another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.correlations import both_finite, pearson, ranks, spearman
from crosslens_metrics.sampling.intervals import SAME_WITHIN
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

MAX_EXACT = 40_320
"""Eight models change places in as many ways."""
DRAWN, SEED = 9_999, 0
CELLS_AT_ONCE = 2_000_000


class TiedRanks(StrEnum):
    """What equal scores share: the mean of their ranks (1, 2.5, 2.5, 4), or the best of them (1, 2, 2, 4)."""

    MEAN = "mean"
    COMPETITION = "competition"


def model_ranks(scores: ArrayLike, *, ties: TiedRanks = TiedRanks.MEAN) -> NDArray[np.float64]:
    """The rank of each model, 1 for the highest score.

    Parameters
    ----------
    scores : array_like of float, shape (n_models,)
        Higher is better.
    ties : TiedRanks
        Which rank models with equal scores share.

    Returns
    -------
    ndarray of float, shape (n_models,)

    Raises
    ------
    ValueError
        If a score is not a number, which has no rank.
    """
    given = np.asarray(scores, dtype=float)
    if given.ndim != 1 or np.isnan(given).any():
        raise ValueError("One score for each model is needed, and each must be a number.")
    if ties == TiedRanks.COMPETITION:
        return np.asarray(1 + np.searchsorted(np.sort(-given), -given), dtype=float)
    return ranks(-given)


def rank_agreement(proposed: ArrayLike, standard: ArrayLike, *, ties: TiedRanks = TiedRanks.MEAN) -> float:
    """The correlation of the ranks that two metrics give the same models: Spearman's, where ties share the mean rank.

    Parameters
    ----------
    proposed, standard : array_like of float, shape (n_models,)
        Scores of either metric, models in the same order; higher is better.
    ties : TiedRanks
        Which rank models with equal scores share.

    Returns
    -------
    float
        1 where both put the models in one order, −1 where in opposite ones.

    Raises
    ------
    ValueError
        If the lengths differ or a score is not finite.
    UndefinedFigureError
        With fewer than two models, or where a metric gives all the same score.

    References
    ----------
    Chen et al. (2020), annotation-free metrics for image captioning: table 3 by mean ranks, table 4 by competition
    ranks.
    """
    if ties == TiedRanks.COMPETITION:
        x, y = both_finite(proposed, standard)
        return pearson(model_ranks(x, ties=ties), model_ranks(y, ties=ties))
    return spearman(proposed, standard)


@dataclass(frozen=True)
class LargestByChance:
    """How often the largest of so many `coefficients`, either way, comes by chance, with the `smallest` possible p."""

    coefficients: int
    largest: float
    p: float
    smallest: float
    permutations: int
    is_exact: bool


def largest_by_chance(proposed: ArrayLike, standard: ArrayLike, *, ties: TiedRanks = TiedRanks.MEAN) -> LargestByChance:
    """Whether the largest coefficient of a table of `rank_agreement` is more than the best of so many by chance.

    The standard scores of the models change places, in all columns alike, and the largest coefficient is as far from
    zero as the one seen in a share of the cases which is the p-value. It holds for the choice of the best of all.

    Parameters
    ----------
    proposed : array_like of float, shape (n_proposed, n_models)
    standard : array_like of float, shape (n_standard, n_models)
        Higher is better; models in the same order.
    ties : TiedRanks
        Which rank models with equal scores share.

    Returns
    -------
    LargestByChance
        Of all orders of up to eight models, else of 9,999 that are drawn with a fixed seed.

    Raises
    ------
    UndefinedFigureError
        Where no coefficient is defined.

    References
    ----------
    P. H. Westfall and S. S. Young (1993), Resampling-Based Multiple Testing.
    """
    ours, theirs = (_standard_ranks(np.asarray(scores, dtype=float), ties) for scores in (proposed, standard))
    if not (len(ours) and len(theirs)):
        raise UndefinedFigureError(UndefinedReason.ALL_VALUES_EQUAL, "No metric tells the models apart.")
    models = ours.shape[1]
    is_exact = math.factorial(models) <= MAX_EXACT
    if is_exact:
        orders = np.array(list(permutations(range(models))))
    else:
        orders = np.tile(np.arange(models), (1 + DRAWN, 1))
        orders[1:] = np.random.default_rng(SEED).permuted(orders[1:], axis=1)
    at_once = max(1, CELLS_AT_ONCE // (len(ours) * len(theirs)))
    largest = np.concatenate(
        [
            np.abs(np.einsum("pm,som->pso", ours, theirs[:, orders[start : start + at_once]], optimize=True)).max(
                (0, 1)
            )
            for start in range(0, len(orders), at_once)
        ]
    )
    # The first order is the one seen.
    at_least, at_most = (float((largest >= least - SAME_WITHIN).mean()) for least in (largest[0], largest.max()))
    return LargestByChance(
        coefficients=len(ours) * len(theirs),
        largest=min(1.0, float(largest[0])),
        p=at_least,
        smallest=at_most if is_exact else 1 / len(orders),
        permutations=len(orders) - (not is_exact),
        is_exact=is_exact,
    )


def _standard_ranks(scores: NDArray[np.float64], ties: TiedRanks) -> NDArray[np.float64]:
    """Ranks with a mean of zero and a sum of squares of one, of the rows that are not all equal."""
    found = np.array([model_ranks(row, ties=ties) for row in scores if np.ptp(row)])
    if not len(found):
        return found
    found = found - found.mean(axis=1, keepdims=True)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))
