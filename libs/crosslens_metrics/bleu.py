"""BLEU-1 to BLEU-4: how many of a caption's n-grams stand in its references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.encoding import EncodedCaptions, encode, side_by_side
from crosslens_metrics.n_grams import ORDERS, WordPlaces, gather, numbered
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.vocabulary import Numbers

Counts = Numbers | NDArray[np.float64]
Bleus = tuple[MetricScores, MetricScores, MetricScores, MetricScores]

WORDS_AT_ONCE = 200_000
# What the reference implementation adds to counts, so that nothing is divided by zero and no logarithm is of it.
TINY, SMALL = 1e-15, 1e-9


def bleu(candidates: Sequence[str], references: Sequence[Sequence[str]], *, workers: int = 1) -> Bleus:
    """BLEU-1 to BLEU-4, as pycocoevalcap has them, with the length of the closest reference.

    Parameters
    ----------
    candidates : sequence of str, length n_images
        Words are separated by blanks.
    references : sequence of sequences of str, length n_images
        One or more for each image, in the order of the candidates.
    workers : int
        Threads.

    Returns
    -------
    tuple of four MetricScores
        From 0 to 1. The corpus has the figure of all counts summed up, which is not the mean over images. Where
        nothing matches, the figure is not quite 0, since the reference implementation adds tiny numbers to all counts.
        `sums` are of `bleu_of_sums`.

    Raises
    ------
    ValueError
        No image; lengths that differ; an image without a reference.

    References
    ----------
    K. Papineni and others (2002), BLEU: a method for automatic evaluation of machine translation.
    """
    return bleu_of(encode(candidates, references), workers=workers)


def bleu_of(captions: EncodedCaptions, *, workers: int = 1) -> Bleus:
    """`bleu` of captions that were read before, by `crosslens_metrics.encoding.encode`."""
    lengths = captions.lengths
    ours = lengths[captions.candidates]
    closest = _closest_lengths(captions)
    right = _right(captions, workers)
    guessed = np.stack([np.maximum(0, ours - order + 1) for order in ORDERS])
    per_image = _figures(right, guessed, ours, closest)
    corpus = _figures(right.sum(axis=1), guessed.sum(axis=1), ours.sum(), closest.sum())
    by_order = [column for order in range(len(ORDERS)) for column in (right[order], guessed[order])]
    sums = np.stack([ours, closest, *by_order], axis=1).astype(np.float64)
    one, two, three, four = (
        MetricScores(float(corpus[n]), per_image[n], sums[:, : _columns(n + 1)]) for n in range(len(ORDERS))
    )
    return one, two, three, four


def bleu_of_sums(sums: ArrayLike, *, order: int) -> NDArray[np.float64]:
    """BLEU-`order` of sums over images, such as those of resamples.

    Parameters
    ----------
    sums : array_like of float, shape (n_some, 2 + 2 * order)
        Words of the candidates; words of the closest references; then for n = 1 to `order` the n-grams that stand in a
        reference, and all n-grams of the candidates.
    order : int
        1 to 4.

    Returns
    -------
    ndarray of float, shape (n_some,)
        From 0 to 1.

    Raises
    ------
    ValueError
        Where the number of columns is another.
    """
    table = np.asarray(sums, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != _columns(order):
        raise ValueError(f"BLEU-{order} follows from {_columns(order)} sums in a row, not from shape {table.shape}.")
    length, closest, *counts = table.T
    return np.asarray(_figures(np.stack(counts[::2]), np.stack(counts[1::2]), length, closest)[-1])


def _columns(order: int) -> int:
    return 2 + 2 * order


def _figures(right: Counts, guessed: Counts, length: Counts, closest: Counts) -> NDArray[np.float64]:
    """BLEU-1 to as many orders as there are counts of; the first axis has the orders."""
    products = ((right + TINY) / (guessed + SMALL)).cumprod(axis=0)
    ratio = (length + TINY) / (closest + SMALL)
    brevity = np.exp(np.minimum(0, 1 - 1 / ratio))
    return np.stack([product ** (1 / order) for order, product in enumerate(products, start=1)]) * brevity


def _closest_lengths(captions: EncodedCaptions) -> Numbers:
    """The length of the reference whose length is nearest to the candidate's; of two equally near the shorter one's."""
    lengths = captions.lengths
    per_image = np.diff(captions.caption_starts)
    distance = np.abs(lengths - np.repeat(lengths[captions.candidates], per_image))
    # One number that orders by distance, then by length.
    span = int(lengths.max()) + 1
    keys = distance * span + lengths
    keys[captions.candidates] = np.iinfo(np.int64).max
    return np.asarray(np.minimum.reduceat(keys, captions.caption_starts[:-1]) % span)


def _right(captions: EncodedCaptions, workers: int) -> Numbers:
    """How many of each candidate's n-grams stand in a reference, none counted more often than there; (4, n_images)."""
    parts = side_by_side(_right_of_part, captions.parts(words=WORDS_AT_ONCE), workers=workers)
    return np.concatenate(list(parts), axis=1)


def _right_of_part(captions: EncodedCaptions) -> Numbers:
    about = WordPlaces(captions)
    right = np.zeros((len(ORDERS), captions.n_images), dtype=np.int64)
    # Before the first word stands its image, so that n-grams of different images are different.
    numbers = about.image_of.take(about.caption_of) + np.int32(1)
    for order in ORDERS:
        places = about.beginnings(order, numbers)
        n_grams = gather(about, places, numbers.take(places), captions.words.take(places + (order - 1)))
        best = np.zeros(len(n_grams.gram), dtype=np.int64)
        for ours, theirs in n_grams.matches():
            best[ours] = np.maximum(best[ours], n_grams.often[theirs])
        best_ones = np.flatnonzero(best)
        counted = np.minimum(best[best_ones], n_grams.often[best_ones])
        images = about.image_of.take(n_grams.caption[best_ones])
        right[order - 1] = np.bincount(images, weights=counted, minlength=captions.n_images)
        kept = np.zeros(len(n_grams.starts), dtype=bool)
        kept[n_grams.gram[best_ones]] = True
        numbers = np.zeros(len(captions.words), dtype=np.int32)
        numbers[places] = n_grams.by_place(numbered(kept))
    return right
