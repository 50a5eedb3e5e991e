"""Many models in one order: Bradley-Terry strengths over comparisons that share images.

A ranking never fails as a whole. Models that were never compared with each other, not even by way of others, are ranked
apart (`components`); where some never lost to the others, or never won, `prior` keeps their strengths finite; where
they did so in too many resamples, only what is said of them has no interval (`ResampledStrengths`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

MAX_ITERATIONS = 1_000
MAX_SHARE_UNFITTED = 0.01
"""(ours) Of the resamples, in how many models may be in several groups before intervals of them are undefined."""
DECIMALS = 6
"""Of the strengths from resamples: what follows is where the fit stopped, which would pass for variation."""
CELLS_AT_ONCE = 5_000_000
PRIOR_IMAGES = 1.0
"""(ours) Without a majority, for each compared pair of models whose lead the judgements do not bound."""


@dataclass(frozen=True)
class RankingOutcomes:
    """One row per image and comparison: `outcome` +1 where the test caption won, −1 where the base caption did, else 0.

    `base` and `test` are models, from 0. The same image may come in several comparisons.
    """

    image: NDArray[np.int_]
    base: NDArray[np.int_]
    test: NDArray[np.int_]
    outcome: NDArray[np.int8]


class StrengthBound(StrEnum):
    """What keeps a model's strength finite: the judgements, or the prior.

    In each comparison of a model with one outside its group of `groups`, all wins are on one side. It never lost, or
    never won, where that holds of all its comparisons, and the side is the same; else it is marked `GROUP`.
    """

    JUDGEMENTS = "judgements"
    NEVER_LOST = "never_lost"
    NEVER_WON = "never_won"
    GROUP = "group"


@dataclass(frozen=True)
class ResampledStrengths:
    """Strengths from resamples of the images, and `groups` of the models in each, of shape (n_resamples, n_models).

    Between models of different groups of a resample, strengths say nothing.
    """

    strengths: NDArray[np.float64]
    groups: NDArray[np.int_]

    def unfitted(self, models: NDArray[np.bool_]) -> int:
        """How many resamples have `models` in several groups."""
        return int((~self._are_together(models)).sum())

    def of(self, models: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Strengths from the resamples that have `models` in one group.

        Raises
        ------
        UndefinedFigureError
            Where more than 1% of the resamples do not (ours).
        """
        unfitted, resamples = self.unfitted(models), len(self.groups)
        if unfitted > MAX_SHARE_UNFITTED * resamples:
            message = f"{unfitted} of {resamples} resamples have no strengths."
            raise UndefinedFigureError(UndefinedReason.RESAMPLES_UNDEFINED, message)
        return self.strengths[self._are_together(models)]

    def core(self) -> NDArray[np.bool_]:
        """Which models are in one group in 99% of the resamples: all, or those that are left (ours).

        Left out, time and again, is who is most often not in the one largest group of those left; several, where they
        are so equally often.
        """
        is_same = self.groups[:, :, None] == self.groups[:, None, :]
        left = np.ones(self.groups.shape[1], dtype=bool)
        while self.unfitted(left) > MAX_SHARE_UNFITTED * len(self.groups):
            sizes = np.where(left, is_same[:, :, left].sum(axis=2), 0)
            largest = sizes.max(axis=1, keepdims=True)
            is_outside = (sizes < largest) | ((sizes == largest).sum(axis=1, keepdims=True) > largest)
            outside = is_outside.sum(axis=0)
            left &= outside < outside[left].max()
        return left

    def _are_together(self, models: NDArray[np.bool_]) -> NDArray[np.bool_]:
        of_models = self.groups[:, models]
        return np.asarray((of_models == of_models[:, :1]).all(axis=1))


def bradley_terry(wins: ArrayLike) -> NDArray[np.float64]:
    """The maximum-likelihood strengths of the Bradley-Terry model, without regularisation.

    Parameters
    ----------
    wins : array_like of float, shape (n_models, n_models)
        How often each row beat each column. An image on which neither has a majority is half a win to each (ours);
        the model has no ties of its own.

    Returns
    -------
    ndarray of float, shape (n_models,)
        Log-odds scale, with mean zero: the odds that i beats j are exp(strength_i − strength_j).

    Raises
    ------
    ValueError
        Where the table is not square.
    UndefinedFigureError
        Where there is no model; where models fall into groups that were never compared (`components`), or where some
        models never lose anything to the others: the strengths would be infinitely far apart. Nothing is added here to
        make them finite; `prior` is what can be.
    ImportError
        Where choix is not installed, which nothing else here needs.

    References
    ----------
    R. A. Bradley and M. E. Terry (1952), Rank analysis of incomplete block designs.
    L. Maystre and M. Grossglauser (2015), Fast and accurate inference of Plackett-Luce models (choix).
    """
    try:
        import choix
    except ImportError as error:
        message = "The strengths of models need choix, which is not installed: pip install choix==0.4.1."
        raise ImportError(message) from error
    table = np.array(wins, dtype=float)
    if not table.size:
        raise UndefinedFigureError(UndefinedReason.NO_MODELS, "There are no models to rank.")
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"A row and a column for each model are needed, not shape {table.shape}.")
    if scipy.sparse.csgraph.connected_components(table > 0, connection="weak", return_labels=False) > 1:
        raise UndefinedFigureError(
            UndefinedReason.MODELS_NOT_CONNECTED,
            "The models fall into groups that were never compared with each other.",
        )
    if scipy.sparse.csgraph.connected_components(table > 0, connection="strong", return_labels=False) > 1:
        raise UndefinedFigureError(
            UndefinedReason.MODEL_NEVER_LOSES,
            "Some models never lost anything to the others: their lead has no measure.",
        )
    try:
        strengths = choix.ilsr_pairwise_dense(table, max_iter=MAX_ITERATIONS)
    except (RuntimeError, ValueError) as error:
        raise UndefinedFigureError(UndefinedReason.NOT_CONVERGED, "The strengths could not be computed.") from error
    return np.asarray(strengths - strengths.mean(), dtype=float)


def components(wins: ArrayLike) -> list[NDArray[np.int_]]:
    """Models that were compared with each other, if only by way of others: the largest group first, then by number.

    Parameters
    ----------
    wins : array_like of float, shape (n_models, n_models)
        `wins[a, b]` is how many images model a won against b; one without a majority is half a win to each.

    Returns
    -------
    list of ndarray of int
        The models of each group.
    """
    labels = scipy.sparse.csgraph.connected_components(np.asarray(wins, dtype=float) > 0, connection="weak")[1]
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))


def groups(wins: ArrayLike) -> NDArray[np.int_]:
    """A number for each model, the same for models that have beaten each other, if only by way of others.

    Judgements bound a lead within a group and none between two.

    Parameters
    ----------
    wins : array_like of float, shape (n_models, n_models)
        `wins[a, b]` is how many images model a won against b; one without a majority is half a win to each.

    Returns
    -------
    ndarray of int, shape (n_models,)
    """
    return np.asarray(
        scipy.sparse.csgraph.connected_components(np.asarray(wins, dtype=float) > 0, connection="strong")[1]
    )


def prior(wins: ArrayLike) -> NDArray[np.float64]:
    """What to add to a table so that `bradley_terry` has finite strengths: nothing, where they are finite anyway.

    Between models of different `groups` all wins are on one side, so that no lead is too large for them. Each compared
    pair of such models gets one image without a majority, half a win to each, as is usual for the odds of a table with
    empty cells.

    Parameters
    ----------
    wins : array_like of float, shape (n_models, n_models)
        `wins[a, b]` is how many images model a won against b; one without a majority is half a win to each.

    Returns
    -------
    ndarray of float, shape (n_models, n_models)
        In images.

    References
    ----------
    F. J. Anscombe (1956), On estimating binomial response relations.
    """
    table = np.asarray(wins, dtype=float)
    group_of = groups(table)
    is_between = ((table + table.T) > 0) & (group_of[:, None] != group_of)
    return np.where(is_between, PRIOR_IMAGES / 2, 0.0)


def bounds(wins: ArrayLike) -> list[StrengthBound]:
    """What bounds the strength of each model of one component against the others.

    That of the largest of `groups` is measured by judgements, if it has several models and is the only one so large.

    Parameters
    ----------
    wins : array_like of float, shape (n_models, n_models)
        `wins[a, b]` is how many images model a won against b; one without a majority is half a win to each.

    Returns
    -------
    list of StrengthBound, length n_models
    """
    table = np.asarray(wins, dtype=float)
    group_of = groups(table)
    sizes = np.bincount(group_of)
    largest = int(sizes.max())
    is_measured = (sizes == largest) & (largest > 1 or len(table) == 1)
    if is_measured.sum() > 1:
        is_measured[:] = False
    names = []
    for model, group in enumerate(group_of):
        if is_measured[group]:
            names.append(StrengthBound.JUDGEMENTS)
        elif not table[:, model].any():
            names.append(StrengthBound.NEVER_LOST)
        elif not table[model].any():
            names.append(StrengthBound.NEVER_WON)
        else:
            names.append(StrengthBound.GROUP)
    return names


def win_table(outcomes: RankingOutcomes, *, n_models: int) -> NDArray[np.float64]:
    """The table that `bradley_terry` takes.

    Parameters
    ----------
    outcomes : Outcomes
    n_models : int

    Returns
    -------
    ndarray of float, shape (n_models, n_models)
        In images; half a win to each for one without a majority.
    """
    cells = _cells(outcomes, n_models).sum(axis=0)
    return np.asarray(cells, dtype=float).reshape(n_models, n_models)


def resampled_strengths(
    outcomes: RankingOutcomes, *, n_models: int, resamples: int, rng: np.random.Generator
) -> ResampledStrengths:
    """`bradley_terry` over resamples of the images, each with all its comparisons, and with the same `prior`.

    Where a resample falls into several groups nonetheless, it is that of each group. Images with the same outcomes in
    the same comparisons are one kind, drawn from a multinomial distribution.

    Parameters
    ----------
    outcomes : Outcomes
    n_models : int
    resamples : int
        Of the bootstrap, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    Resampled
        Log-odds, for each resample and model.
    """
    added = prior(win_table(outcomes, n_models=n_models))
    kinds, frequency = np.unique(_cells(outcomes, n_models), axis=0, return_counts=True)
    n_images = int(frequency.sum())
    at_once = max(1, CELLS_AT_ONCE // len(kinds))
    strengths, groups_of = np.zeros((resamples, n_models)), np.zeros((resamples, n_models), dtype=int)
    for start in range(0, resamples, at_once):
        draws = rng.multinomial(n_images, frequency / n_images, size=min(at_once, resamples - start))
        # Of few images many resamples are alike: one fit serves all of them.
        distinct, alike = np.unique(draws @ kinds, axis=0, return_inverse=True)
        fits, groups_in = np.zeros((len(distinct), n_models)), np.zeros((len(distinct), n_models), dtype=int)
        for number, cells in enumerate(distinct):
            table = cells.reshape(n_models, n_models) + added
            groups_in[number] = groups(table)
            for group in range(groups_in[number].max() + 1):
                members = np.flatnonzero(groups_in[number] == group)
                try:
                    fits[number, members] = bradley_terry(table[np.ix_(members, members)]).round(DECIMALS)
                except UndefinedFigureError:
                    # It came to no end: of none of them anything is known.
                    groups_in[number, members] = n_models + members
        rows = slice(start, start + len(draws))
        strengths[rows], groups_of[rows] = fits[alike.reshape(-1)], groups_in[alike.reshape(-1)]
    return ResampledStrengths(strengths, groups_of)


def images_to_separate(difference: float, interval: Interval, *, images: int) -> int:
    """How many images it takes until the 95% interval of a difference ends at zero, if the difference stays as it is.

    Widths shrink with the square root of the images, each of which is taken to be judged in all comparisons as now.

    Parameters
    ----------
    difference : float
        Of two strengths, in log-odds.
    interval : Interval
        Its 95% interval.
    images : int
        From which the interval is.

    Returns
    -------
    int
        Images in all, those there are included.

    Raises
    ------
    UndefinedFigureError
        Where no difference was seen.
    """
    if math.isclose(difference, 0, abs_tol=1e-9):
        raise UndefinedFigureError(
            UndefinedReason.NO_DIFFERENCE, ("The images show no difference that more images could confirm.")
        )
    return math.ceil(images * (interval.width / 2 / difference) ** 2)


def _cells(outcomes: RankingOutcomes, n_models: int) -> NDArray[np.float64]:
    """Per image, how often each model beat each other one, half wins included, the table laid out flat."""
    image_of = np.unique(outcomes.image, return_inverse=True)[1]
    test_share = (outcomes.outcome.astype(float) + 1) / 2
    cells = np.zeros((int(image_of.max(initial=-1)) + 1, n_models * n_models))
    np.add.at(cells, (image_of, outcomes.test * n_models + outcomes.base), test_share)
    np.add.at(cells, (image_of, outcomes.base * n_models + outcomes.test), 1 - test_share)
    return cells
