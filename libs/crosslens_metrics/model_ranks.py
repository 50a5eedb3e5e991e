"""Ranks of models by one metric, held against their ranks by another."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.correlations import both_finite, pearson, ranks, spearman


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
