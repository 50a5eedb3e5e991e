"""Ranks of models by one metric, held against their ranks by another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.correlations import ranks, spearman


def model_ranks(scores: ArrayLike) -> NDArray[np.float64]:
    """The rank of each model, 1 for the highest score; models with equal scores share the mean of their ranks.

    Parameters
    ----------
    scores : array_like of float, shape (n_models,)
        Higher is better.

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
    return ranks(-given)


def rank_agreement(proposed: ArrayLike, standard: ArrayLike) -> float:
    """Spearman's correlation of the ranks that two metrics give the same models.

    Parameters
    ----------
    proposed, standard : array_like of float, shape (n_models,)
        Scores of either metric, models in the same order; higher is better.

    Returns
    -------
    float
        1 where both put the models in one order, −1 where in opposite ones.

    Raises
    ------
    ValueError
        If the lengths differ or a score is not finite.
    UndefinedFigure
        With fewer than two models, or where a metric gives all the same score.

    References
    ----------
    Chen et al. (2020), annotation-free metrics for image captioning, table 3.
    """
    return spearman(proposed, standard)
