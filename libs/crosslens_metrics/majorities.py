"""Side by side: what the ratings of an image decide, how far each moved that, and how far raters agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.sampling.intervals import share_bounds


def majority_outcomes(better: ArrayLike, worse: ArrayLike, ratings: ArrayLike) -> NDArray[np.int8]:
    """What a strict majority of the ratings of each image says, whatever the degree.

    Parameters
    ----------
    better, worse, ratings : array_like of int, shape (n_images,)
        How many ratings of an image say better, how many say worse, and how many there are (ties are the rest).

    Returns
    -------
    ndarray of int8, shape (n_images,)
        +1 where more than half of the ratings say better, −1 where more than half say worse, else 0. Of three
        ratings, two decide.
    """
    better, worse, ratings = np.asarray(better), np.asarray(worse), np.asarray(ratings)
    return (2 * better > ratings).astype(np.int8) - (2 * worse > ratings).astype(np.int8)


def alike_signs(judged: ArrayLike, signs: ArrayLike) -> float:
    """`alike_judgements` of rows of judgements; where nobody judged what another did, of all images as of one.

    Parameters
    ----------
    judged, signs : array_like of int, shape (n_judgements,)
        The image of each, from 0; and +1, 0 or −1.

    Returns
    -------
    float
        From 0 to 1.
    """
    image, sign = np.asarray(judged), np.asarray(signs)
    said = np.stack([np.bincount(image, sign == kind) for kind in (-1, 0, 1)])
    if said.sum(axis=0).max(initial=0) < 2:
        said = said.sum(axis=1, keepdims=True)
    return float(alike_judgements(said))


def alike_judgements(counts: ArrayLike) -> NDArray[np.float64]:
    """How far judgements may agree: 1 always, and 0 if two of the same image differ as often as not, or more often.

    The share of pairs of judgements of an image that say the same is taken to be as high as Clopper and Pearson allow
    for from so many judgements beyond the first of each image: a few that differ do not show that raters do.

    Parameters
    ----------
    counts : array_like of int, shape (n_kinds, …, n_images)
        How many judgements of each image say better, worse and neither. Images with one judgement do not count.

    Returns
    -------
    ndarray of float, shape (…)
        From 0 to 1; 1 where no image has two judgements.

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934), The use of confidence or fiducial limits.
    """
    said = np.asarray(counts, dtype=float)
    judgements = said.sum(axis=0)
    same = (said * (said - 1)).sum(axis=0) / np.maximum(judgements - 1, 1)
    shared = np.where(judgements > 1, judgements, 0).sum(axis=-1)
    share = np.divide(same.sum(axis=-1), shared, out=np.ones(shared.shape), where=shared > 0)
    further = np.maximum(judgements - 1, 0).sum(axis=-1)
    most = share_bounds(np.minimum(share, 1) * further, further)[1]
    return np.asarray(np.maximum(0.0, 2 * most - 1))


def moved_outcomes(signs: ArrayLike, images: ArrayLike) -> NDArray[np.float64]:
    """How far each judgement moved the outcome of its image from what another rater would have made of it.

    Another rater's judgement is taken to say better, worse and neither as often as all judgements here do: the
    difference is the projection of the outcome on that one judgement.

    Parameters
    ----------
    signs : array_like of int, shape (n_judgements,)
        +1 better, −1 worse, 0 neither.
    images : array_like of int, shape (n_judgements,)
        From 0.

    Returns
    -------
    ndarray of float, shape (n_judgements,)
        In outcomes, around a mean of zero.

    References
    ----------
    W. Hoeffding (1948), A class of statistics with asymptotically normal distribution.
    """
    sign, image = np.asarray(signs, dtype=int), np.asarray(images, dtype=int)
    if not len(sign):
        return np.zeros(0)
    better, worse = np.bincount(image, sign > 0).astype(int), np.bincount(image, sign < 0).astype(int)
    ratings = np.bincount(image)[image]
    better_of_others, worse_of_others = better[image] - (sign > 0), worse[image] - (sign < 0)
    expected = np.zeros(len(sign))
    for other in (-1, 0, 1):
        outcome = majority_outcomes(better_of_others + (other > 0), worse_of_others + (other < 0), ratings)
        expected += (sign == other).mean() * outcome
    moved = majority_outcomes(better[image], worse[image], ratings) - expected
    return np.asarray(moved - moved.mean(), dtype=float)
