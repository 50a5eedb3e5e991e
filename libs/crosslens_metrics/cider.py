"""CIDEr and CIDEr-D: how near a caption's n-grams are to its references', the rarer the weightier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.document_frequencies import CountLookup, DocumentFrequencies
from crosslens_metrics.encoding import EncodedCaptions, encode
from crosslens_metrics.n_grams import ORDERS, NGrams, SmallNumbers, WordPlaces, sweep
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from crosslens_metrics.vocabulary import Numbers

Weights = NDArray[np.float64]
Product = Callable[[Weights, Weights], Weights]
SCALE = 10.0


def cider(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    frequencies: DocumentFrequencies | None = None,
    workers: int = 1,
) -> MetricScores:
    """The original CIDEr: ten times the mean cosine, over references and n = 1 to 4, of vectors of n-grams.

    An n-gram weighs how often the caption has it times log(images / images with it in a reference). Repeating a
    weighty word is not punished, nor is a caption's length: for that there is `cider_d`, which the public COCO tool
    calls CIDEr.

    Parameters
    ----------
    candidates : sequence of str, length n_images
        Words are separated by blanks.
    references : sequence of sequences of str, length n_images
        One or more for each image, in the order of the candidates.
    frequencies : DocumentFrequencies, optional
        Of another corpus; those of `references` otherwise. n-grams that it does not have count as in one image.
    workers : int
        Threads.

    Returns
    -------
    MetricScores
        From 0 to 10; the corpus has the mean over images. Where frequencies are of the references themselves, a single
        image scores 0: what stands in every image weighs nothing.

    Raises
    ------
    ValueError
        No image; lengths that differ; an image without a reference.
    UndefinedFigureError
        No reference has a word, and no frequencies are given.

    References
    ----------
    R. Vedantam, C. L. Zitnick, D. Parikh (2015), CIDEr: consensus-based image description evaluation.
    """
    return cider_of(encode(candidates, references), frequencies=frequencies, workers=workers)


def cider_of(
    captions: EncodedCaptions, *, frequencies: DocumentFrequencies | None = None, workers: int = 1
) -> MetricScores:
    """`cider` of captions that were read before, by `crosslens_metrics.encoding.encode`."""
    similar = _similarities(captions, frequencies, np.multiply, workers)
    return _scores(captions, similar)


def cider_d(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    sigma: float = 6.0,
    frequencies: DocumentFrequencies | None = None,
    workers: int = 1,
) -> MetricScores:
    """CIDEr-D, as pycocoevalcap has it under the name of CIDEr: `cider` with two safeguards against gaming.

    A candidate's weight of an n-gram counts up to the reference's, and the similarity falls with the difference d of
    the lengths as exp(-d² / 2 sigma²), where lengths are counted in pairs of words, as there.

    Parameters
    ----------
    candidates, references, frequencies, workers
        As of `cider`.
    sigma : float
        Of the Gaussian penalty, in pairs of words.

    Returns
    -------
    MetricScores
        From 0 to 10; the corpus has the mean over images.

    Raises
    ------
    ValueError
        No image; lengths that differ; an image without a reference; a sigma that is not above 0.
    UndefinedFigureError
        No reference has a word, and no frequencies are given.

    References
    ----------
    R. Vedantam, C. L. Zitnick, D. Parikh (2015), CIDEr: consensus-based image description evaluation, section 5.
    """
    return cider_d_of(encode(candidates, references), sigma=sigma, frequencies=frequencies, workers=workers)


def cider_d_of(
    captions: EncodedCaptions, *, sigma: float = 6.0, frequencies: DocumentFrequencies | None = None, workers: int = 1
) -> MetricScores:
    """`cider_d` of captions that were read before, by `crosslens_metrics.encoding.encode`."""
    if not sigma > 0:
        raise ValueError(f"sigma is {sigma}: give a number of words above 0.")
    similar = _similarities(captions, frequencies, _clipped, workers)
    pairs = np.maximum(0, captions.lengths - 1)
    difference = pairs - np.repeat(pairs[captions.candidates], np.diff(captions.caption_starts))
    return _scores(captions, similar * np.exp(-(difference**2) / (2 * sigma**2)))


def _clipped(ours: Weights, theirs: Weights) -> Weights:
    return np.minimum(ours, theirs) * theirs


def _scores(captions: EncodedCaptions, similar: Weights) -> MetricScores:
    """From similarities to references, added up over n; candidates' places hold 0."""
    references = np.diff(captions.caption_starts) - 1
    sums = np.add.reduceat(similar, captions.caption_starts[:-1])
    per_image = sums / len(ORDERS) / references * SCALE
    return MetricScores(float(per_image.mean()), per_image)


def _similarities(
    captions: EncodedCaptions, frequencies: DocumentFrequencies | None, product: Product, workers: int
) -> Weights:
    """The cosine of each reference with its candidate, added up over n; shape (n_captions,)."""
    if frequencies is None and not np.delete(captions.lengths, captions.candidates).any():
        raise UndefinedFigureError(UndefinedReason.NO_WORDS, "No reference has a word: no n-gram can be weighed.")
    about = WordPlaces(captions)
    documents = captions.n_images if frequencies is None else frequencies.documents
    lookup = None if frequencies is None else frequencies.lookup(captions)
    candidates = np.repeat(captions.candidates, np.diff(captions.caption_starts))
    similar = np.zeros(len(captions.lengths))
    parts = sweep(about, partial(_weigh, documents, lookup, product), only_repeated=lookup is None, workers=workers)
    for order, parts_of_order in groupby(parts, key=itemgetter(0)):
        squares, matched = np.zeros_like(similar), np.zeros_like(similar)
        left_out = np.maximum(0, captions.lengths - order + 1)
        for _, part in parts_of_order:
            caption = about.caption_of.take(part.places)
            np.add.at(squares, caption, part.squares)
            np.subtract.at(left_out, caption, 1)
            for references, products in part.matched:
                np.add.at(matched, references, products)
        # What the sweep leaves out stands once in one caption: in one image, or in none, which counts as one.
        squares += left_out * np.log(documents) ** 2
        norms = np.sqrt(squares) * np.sqrt(squares[candidates])
        similar += np.divide(matched, norms, out=np.zeros_like(matched), where=norms > 0)
    return similar


@dataclass(frozen=True)
class _NGramPart:
    """The n-grams that begin at some places: what each adds to its caption's squared norm, where it stands first there,
    and what those that are met add to references' products with their candidates."""

    places: Numbers
    squares: Weights
    matched: list[tuple[SmallNumbers, Weights]]


def _weigh(
    documents: int, lookup: CountLookup | None, product: Product, order: int, numbers: SmallNumbers, n_grams: NGrams
) -> _NGramPart:
    counts = n_grams.documents() if lookup is None else lookup.counts(order, n_grams)
    rarity = np.log(documents) - np.log(np.maximum(counts, 1))
    # What stands in every image weighs nothing at all, however logarithms are rounded.
    rarity[counts == documents] = 0
    weights = n_grams.often * rarity.take(n_grams.gram)
    weighed = [
        (n_grams.caption.take(theirs), product(weights.take(ours), weights.take(theirs)))
        for ours, theirs in n_grams.matches()
    ]
    return _NGramPart(n_grams.places, n_grams.by_first_place(weights**2), weighed)
