"""Many models in one order: Bradley-Terry strengths over comparisons that share images."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csgraph

from metrics.intervals import Interval
from metrics.undefined import Reason, UndefinedFigure

MOST_ITERATIONS = 1_000
LARGEST_SHARE_UNFITTED = 0.01
"""(ours) Of the resamples, how many may have no strengths before the intervals are undefined."""
CELLS_AT_ONCE = 5_000_000


@dataclass(frozen=True)
class Outcomes:
    """One row per image and comparison: `outcome` +1 where the test caption won, −1 where the base caption did, else 0.

    `base` and `test` are models, from 0. The same image may come in several comparisons.
    """

    image: NDArray[np.int_]
    base: NDArray[np.int_]
    test: NDArray[np.int_]
    outcome: NDArray[np.int8]


@dataclass(frozen=True)
class Resampled:
    """Strengths from resamples of the images, shape (n_fitted, n_models); `unfitted` resamples had none."""

    strengths: NDArray[np.float64]
    unfitted: int


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
    UndefinedFigure
        Where models fall into groups that were never compared, or where some models never lose anything to the others:
        the strengths would be infinitely far apart. Nothing is added to make them finite.
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
    if csgraph.connected_components(table > 0, connection="weak", return_labels=False) > 1:
        raise UndefinedFigure(
            Reason.MODELS_NOT_CONNECTED, "The models fall into groups that were never compared with each other."
        )
    if csgraph.connected_components(table > 0, connection="strong", return_labels=False) > 1:
        raise UndefinedFigure(
            Reason.MODEL_NEVER_LOSES, "Some models never lost anything to the others: their lead has no measure."
        )
    try:
        strengths = choix.ilsr_pairwise_dense(table, max_iter=MOST_ITERATIONS)
    except (RuntimeError, ValueError) as error:
        raise UndefinedFigure(Reason.NOT_CONVERGED, "The strengths could not be computed.") from error
    return np.asarray(strengths - strengths.mean(), dtype=float)


def win_table(outcomes: Outcomes, *, n_models: int) -> NDArray[np.float64]:
    """The table that `bradley_terry` takes."""
    cells = _cells(outcomes, n_models).sum(axis=0)
    return np.asarray(cells, dtype=float).reshape(n_models, n_models)


def resampled_strengths(outcomes: Outcomes, *, n_models: int, resamples: int, rng: np.random.Generator) -> Resampled:
    """`bradley_terry` over resamples of the images, each with all its comparisons.

    Images with the same outcomes in the same comparisons are one kind, drawn from a multinomial distribution.

    Raises
    ------
    UndefinedFigure
        Where it is undefined for the outcomes themselves, or for more than 1% of the resamples (ours).
    """
    bradley_terry(win_table(outcomes, n_models=n_models))
    kinds, frequency = np.unique(_cells(outcomes, n_models), axis=0, return_counts=True)
    n_images = int(frequency.sum())
    at_once = max(1, CELLS_AT_ONCE // len(kinds))
    fitted = []
    for start in range(0, resamples, at_once):
        draws = rng.multinomial(n_images, frequency / n_images, size=min(at_once, resamples - start))
        for cells in draws @ kinds:
            try:
                fitted.append(bradley_terry(cells.reshape(n_models, n_models)))
            except UndefinedFigure:
                continue
    unfitted = resamples - len(fitted)
    if unfitted > LARGEST_SHARE_UNFITTED * resamples:
        raise UndefinedFigure(Reason.RESAMPLES_UNDEFINED, f"{unfitted} of {resamples} resamples have no strengths.")
    return Resampled(np.array(fitted), unfitted)


def images_to_separate(difference: float, interval: Interval, *, images: int) -> int:
    """How many images it takes until the 95% interval of a difference ends at zero, if the difference stays as it is.

    Widths shrink with the square root of the images, each of which is taken to be judged in all comparisons as now.

    Raises
    ------
    UndefinedFigure
        Where no difference was seen.
    """
    if math.isclose(difference, 0, abs_tol=1e-9):
        raise UndefinedFigure(Reason.NO_DIFFERENCE, "No difference was seen that more images could make certain.")
    return math.ceil(images * (interval.width / 2 / difference) ** 2)


def _cells(outcomes: Outcomes, n_models: int) -> NDArray[np.float64]:
    """Per image, how often each model beat each other one, half wins included, the table laid out flat."""
    image_of = np.unique(outcomes.image, return_inverse=True)[1]
    test_share = (outcomes.outcome.astype(float) + 1) / 2
    cells = np.zeros((int(image_of.max(initial=-1)) + 1, n_models * n_models))
    np.add.at(cells, (image_of, outcomes.test * n_models + outcomes.base), test_share)
    np.add.at(cells, (image_of, outcomes.base * n_models + outcomes.test), 1 - test_share)
    return cells
