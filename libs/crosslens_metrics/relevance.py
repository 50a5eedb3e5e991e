"""Metrics without references in the language: how near a caption is to an English one, or to the image itself.

Everything here takes distances or vectors that are given; `crosslens_metrics.word_movers` makes the distances, a
projection (`research/inference/projections` in the platform) or an encoder of text and images the vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

PERCENT = 100.0
ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class WmdRel:
    """Relevance by the word mover's distance.

    Attributes
    ----------
    per_image : ndarray of float64, shape (n_images,)
        In [0, 1].
    z : float
        The distance that counts as no relevance at all, in the unit of the distances. Figures of two models may only be
        compared where it is the same.
    """

    per_image: NDArray[np.float64]
    z: float

    @property
    def corpus(self) -> float:
        """The mean over the images."""
        return float(self.per_image.mean())


def wmd_rel(distances: ArrayLike, *, z: float | None = None) -> WmdRel:
    """WMDRel: 1 − wmd / z, cut to [0, 1].

    Parameters
    ----------
    distances : array_like of float, shape (n_images,)
        Word mover's distances of candidate and translated English reference; infinite where one of them has no word
        with a vector, which makes the relevance 0.
    z : float, optional
        Above 0, in the unit of the distances; the largest finite distance given where it is left out. 2 is the largest
        that vectors of length 1 can be apart.

    Returns
    -------
    WmdRel

    Raises
    ------
    ValueError
        Where there is no image, a distance is negative or no number, or z is not above 0.
    UndefinedFigureError
        Where z is left out and no distance is finite.

    References
    ----------
    Chen et al. (2020), annotation-free metrics for image captioning.
    """
    given = np.asarray(distances, dtype=np.float64)
    if given.ndim != 1 or not given.size:
        raise ValueError(f"The distances have the shape {given.shape}; give one per image, of one image or more.")
    wrong = np.flatnonzero(~(given >= 0))
    if wrong.size:
        raise ValueError(f"The distance of image {wrong[0]} is {given[wrong[0]]}; it must be 0 or more.")
    if z is None:
        finite = given[np.isfinite(given)]
        if not finite.size:
            raise UndefinedFigureError(UndefinedReason.NO_KNOWN_WORD, "No image has a finite word mover's distance.")
        # Where nothing is apart, any z says the same.
        z = float(finite.max()) or 1.0
    if not (np.isfinite(z) and z > 0):
        raise ValueError(f"z is {z}; it must be a number above 0.")
    return WmdRel(per_image=np.clip(1.0 - given / z, 0.0, 1.0), z=z)


def clin_rel(candidates: ArrayLike, references: ArrayLike) -> NDArray[np.float64]:
    """CLinRel: cosines of candidates' and English references' projections into a space of image features.

    Parameters
    ----------
    candidates, references : array_like of float, shape (n_images, dimensions)
        In the same order of images; no row may be zero throughout.

    Returns
    -------
    ndarray of float64, shape (n_images,)
        In [-1, 1]; the figure of a model is their mean.

    Raises
    ------
    ValueError
        Where there is no image, the shapes differ, or a row is zero throughout or not finite (naming the row).

    References
    ----------
    Chen et al. (2020), annotation-free metrics for image captioning.
    """
    return _cosines(candidates, references, "candidate", "reference")


def cmed_rel(candidates: ArrayLike, images: ArrayLike) -> NDArray[np.float64]:
    """CMedRel: cosines of candidates' projections and the features of their images.

    Parameters
    ----------
    candidates, images : array_like of float, shape (n_images, dimensions)
        As for `clin_rel`.

    Returns
    -------
    ndarray of float64, shape (n_images,)
        In [-1, 1]; the figure of a model is their mean.

    Raises
    ------
    ValueError
        As for `clin_rel`.

    References
    ----------
    Chen et al. (2020), annotation-free metrics for image captioning.
    """
    return _cosines(candidates, images, "candidate", "image")


def wcc(wmd_rel: ArrayLike, clin_rel: ArrayLike, cmed_rel: ArrayLike) -> NDArray[np.float64]:
    """WCC: the sum of the three relevances, on the ×100 scale.

    Parameters
    ----------
    wmd_rel, clin_rel, cmed_rel : array_like of float, of one shape
        Each as the functions above give it, at most 1; of one model, or of one image per place.

    Returns
    -------
    ndarray of float64, of the same shape
        At most 300.

    Raises
    ------
    ValueError
        Where the shapes differ.

    References
    ----------
    Chen et al. (2020), annotation-free metrics for image captioning.
    """
    return _sum(wmd_rel, clin_rel, cmed_rel)


def bmrc(bleu_4: ArrayLike, meteor: ArrayLike, rouge_l: ArrayLike, cider: ArrayLike) -> NDArray[np.float64]:
    """BMRC: BLEU-4 + METEOR + ROUGE-L + CIDEr, on the ×100 scale.

    Parameters
    ----------
    bleu_4, meteor, rouge_l, cider : array_like of float, of one shape
        Each on the scale of its reference implementation: the first three at most 1, CIDEr at most 10.

    Returns
    -------
    ndarray of float64, of the same shape

    Raises
    ------
    ValueError
        Where the shapes differ.

    References
    ----------
    Chen et al. (2020), annotation-free metrics for image captioning.
    """
    return _sum(bleu_4, meteor, rouge_l, cider)


def _sum(*parts: ArrayLike) -> NDArray[np.float64]:
    arrays = [np.asarray(part, dtype=np.float64) for part in parts]
    shapes = [array.shape for array in arrays]
    if len(set(shapes)) > 1:
        raise ValueError(f"What is summed up has different shapes: {', '.join(map(str, shapes))}.")
    total: NDArray[np.float64] = PERCENT * np.sum(arrays, axis=0)
    return total


def _cosines(one: ArrayLike, other: ArrayLike, name: str, other_name: str) -> NDArray[np.float64]:
    a, b = np.asarray(one), np.asarray(other)
    if a.ndim != 2 or a.shape != b.shape or not len(a):
        raise ValueError(f"The vectors have the shapes {a.shape} and {b.shape}; both need one row for each image.")
    cosines = [_cosines_of(a, b, start, name, other_name) for start in range(0, len(a), ROWS_AT_ONCE)]
    return np.concatenate(cosines)


def _cosines_of(
    one: NDArray[np.floating], other: NDArray[np.floating], start: int, name: str, other_name: str
) -> NDArray[np.float64]:
    """Of some rows, in 64 bits: in these, all of 100,000 images would take GB."""
    products = []
    for given, what in ((one, name), (other, other_name)):
        rows = given[start : start + ROWS_AT_ONCE].astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1)
        wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
        if wrong.size:
            raise ValueError(f"The vector of {what} {start + wrong[0]} is zero throughout or not finite.")
        products.append(rows / lengths[:, None])
    cosines: NDArray[np.float64] = np.clip(np.einsum("nd,nd->n", *products), -1.0, 1.0)
    return cosines
