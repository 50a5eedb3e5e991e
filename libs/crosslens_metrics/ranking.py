"""Many models in one order: Bradley-Terry strengths over comparisons that share images.

A ranking never fails as a whole. Models that were never compared with each other, not even by way of others, are ranked
apart (`components`); where some never lost to the others, or never won, `prior` keeps their strengths finite; where too
few wins link models either way, only what is said of them has no interval (`well_linked`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.majorities import alike_signs
from crosslens_metrics.on_first_use import scipy
from crosslens_metrics.sampling.intervals import IMAGES_FOR_POWER, Interval
from crosslens_metrics.sampling.variance import clustered, two_way
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

MAX_ITERATIONS = 1_000
MIN_WINS = 5
"""(ours) Of one model over another, if only by way of others, before their lead has an interval: fewer are missing in
more than one resample of a hundred, and the lead with them."""
FIT_WITHIN = 1e-6
"""Of a standard error, in log-odds: what is smaller is where the fit stopped, which would pass for variation."""
PRIOR_IMAGES = 1.0
"""(ours) Without a majority, for each compared pair of models whose lead the judgements do not bound."""


@dataclass(frozen=True)
class RankingOutcomes:
    """One row per image and comparison: `outcome` +1 where the test caption won, −1 where the base caption did, else 0.

    `base` and `test` are models, from 0. The same image may come in several comparisons. Judgements are as
    `crosslens_metrics.gains.with_other_raters` takes them: the row that each is of, its rater, how far it moved it, and
    its sign.
    """

    image: NDArray[np.int_]
    base: NDArray[np.int_]
    test: NDArray[np.int_]
    outcome: NDArray[np.int8]
    judged: NDArray[np.int_] = field(default_factory=lambda: np.zeros(0, dtype=int))
    rater: NDArray[np.int_] = field(default_factory=lambda: np.zeros(0, dtype=int))
    moved: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    sign: NDArray[np.int_] = field(default_factory=lambda: np.zeros(0, dtype=int))

    @property
    def alike(self) -> float:
        """How far raters agree: `crosslens_metrics.majorities.alike_signs`."""
        return alike_signs(self.judged, self.sign)


class StrengthBound(StrEnum):
    """What keeps a model's strength finite: the judgements, or the prior.

    In each comparison of a model with one outside its group of `groups`, all wins are on one side. It never lost, or
    never won, where that holds of all its comparisons, and the side is the same; else it is marked `GROUP`.
    """

    JUDGEMENTS = "judgements"
    NEVER_LOST = "never_lost"
    NEVER_WON = "never_won"
    GROUP = "group"


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
    wins = np.zeros((n_models, n_models))
    test_share = (outcomes.outcome.astype(float) + 1) / 2
    np.add.at(wins, (outcomes.test, outcomes.base), test_share)
    np.add.at(wins, (outcomes.base, outcomes.test), 1 - test_share)
    return wins


def well_linked(wins: ArrayLike) -> NDArray[np.int_]:
    """A number for each model, the same for models that `MIN_WINS` wins link either way, if only by way of others.

    As many as the wins that would have to be missing until one of the two had never beaten the other, which is the
    smallest cut between them.

    Parameters
    ----------
    wins : array_like of float, shape (n_models, n_models)
        `wins[a, b]` is how many images model a won against b; one without a majority is half a win to each.

    Returns
    -------
    ndarray of int, shape (n_models,)

    References
    ----------
    L. R. Ford and D. R. Fulkerson (1956), Maximal flow through a network.
    """
    # Halves are whole numbers of twice the unit, which is what the algorithm takes.
    flows = scipy.sparse.csr_array(np.rint(2 * np.asarray(wins, dtype=float)).astype(np.int32))
    models = flows.shape[0]
    is_linked = np.eye(models, dtype=bool)
    for one, other in permutations(range(models), 2):
        flow = scipy.sparse.csgraph.maximum_flow(flows, one, other).flow_value
        is_linked[one, other] = flow >= 2 * MIN_WINS
    return np.asarray(scipy.sparse.csgraph.connected_components(is_linked & is_linked.T, directed=False)[1], dtype=int)


class StrengthVariances:
    """The variances of strengths over images, and over images and raters, from how far each row moved them.

    To the first order a row moves the strengths by the inverse of the information times its score, so that no fit need
    be repeated.

    References
    ----------
    A. C. Cameron, J. B. Gelbach and D. L. Miller (2011), Robust inference with multiway clustering.
    """

    def __init__(self, outcomes: RankingOutcomes, strengths: NDArray[np.float64]) -> None:
        """`strengths` are what `bradley_terry` gives for the outcomes."""
        models = len(strengths)
        self._outcomes = outcomes
        apart = np.eye(models)[outcomes.test] - np.eye(models)[outcomes.base]
        expected = scipy.special.expit(apart @ strengths)
        information = (apart * (expected * (1 - expected))[:, None]).T @ apart
        self._per_outcome = apart @ np.linalg.pinv(information, hermitian=True)
        self._residual = (outcomes.outcome.astype(float) + 1) / 2 - expected

    def with_these_raters(self, contrast: NDArray[np.float64]) -> tuple[float, float]:
        """The variance of a contrast of strengths over other images, and its degrees of freedom."""
        by_image = clustered(self._residual * (self._per_outcome @ contrast), self._outcomes.image)
        return _beyond_the_fit(by_image.variance), by_image.degrees_of_freedom

    def with_other_raters(self, contrast: NDArray[np.float64]) -> tuple[float, float]:
        """The variance of a contrast of strengths over other images and raters, and its degrees of freedom.

        Raises
        ------
        UndefinedFigureError
            With one rater, or none known.
        """
        outcomes = self._outcomes
        if len(np.unique(outcomes.rater)) < 2:
            raise UndefinedFigureError(UndefinedReason.ONE_RATER, "One rater does not show how raters differ.")
        moved = self._per_outcome @ contrast
        by_image = clustered(self._residual * moved, outcomes.image)
        # An outcome is two shares of a win wide.
        of_judgement = moved[outcomes.judged] * outcomes.moved / 2
        by_rater = clustered(of_judgement, outcomes.rater)
        cell = outcomes.image[outcomes.judged] * (int(outcomes.rater.max()) + 1) + outcomes.rater
        by_cell = np.bincount(np.unique(cell, return_inverse=True)[1], of_judgement)
        variance, freedom = two_way(by_image, by_rater, float(by_cell @ by_cell))
        return _beyond_the_fit(variance), freedom


def _beyond_the_fit(variance: float) -> float:
    return variance if variance > FIT_WITHIN**2 else 0.0


def images_to_separate(
    difference: float, interval: Interval, *, images: int, other_raters: Interval | None = None
) -> int:
    """How many images it takes for an 80% chance that the 95% interval of a difference leaves out zero.

    The difference is taken to be what was seen. Widths shrink with the square root of the images, each of which is
    taken to be judged in all comparisons as now, by the same raters: what these add to the width stays.

    Parameters
    ----------
    difference : float
        Of two strengths, in log-odds.
    interval : Interval
        Its 95% interval.
    images : int
        From which the interval is.
    other_raters : Interval, optional
        Its 95% interval with other raters, if this is the one that is to leave out zero.

    Returns
    -------
    int
        Images in all, those there are included.

    Raises
    ------
    UndefinedFigureError
        Where no difference was seen, or where no number of images by these raters is enough.
    """
    if math.isclose(difference, 0, abs_tol=1e-9):
        raise UndefinedFigureError(
            UndefinedReason.NO_DIFFERENCE, ("The images show no difference that more images could confirm.")
        )
    by_raters = max(0.0, other_raters.width**2 - interval.width**2) if other_raters else 0.0
    to_spare = difference**2 - IMAGES_FOR_POWER * by_raters / 4
    if to_spare <= 0:
        raise UndefinedFigureError(UndefinedReason.MORE_RATERS, "More images by the same raters do not separate them.")
    return math.ceil(IMAGES_FOR_POWER * images * (interval.width / 2) ** 2 / to_spare)
