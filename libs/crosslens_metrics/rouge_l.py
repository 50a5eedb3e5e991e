"""ROUGE-L: how much of a caption stands in a reference in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.encoding import EncodedCaptions, encode, side_by_side
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.vocabulary import Numbers

# A caption's words are the bits of one number; what is longer than the last is done pair by pair.
WIDTHS = (8, 16, 32, 64)
COMPARISONS_AT_ONCE = 1_000_000
NO_WORD, NO_OTHER_WORD = -1, -2


def rouge_l(
    candidates: Sequence[str], references: Sequence[Sequence[str]], *, beta: float = 1.2, workers: int = 1
) -> MetricScores:
    """ROUGE-L, as pycocoevalcap has it: F of the best precision and the best recall among the references.

    Words are what single spaces separate, as there: two spaces in a row have an empty word between them, and an empty
    caption is one empty word.

    Parameters
    ----------
    candidates : sequence of str, length n_images
    references : sequence of sequences of str, length n_images
        One or more for each image, in the order of the candidates.
    beta : float
        How many times as much recall weighs as precision.
    workers : int
        Threads.

    Returns
    -------
    MetricScores
        From 0 to 1; the corpus has the mean over images.

    Raises
    ------
    ValueError
        No image; lengths that differ; an image without a reference.

    References
    ----------
    C.-Y. Lin (2004), ROUGE: a package for automatic evaluation of summaries. H. Hyyrö (2004), Bit-parallel LCS-length
    computation revisited.
    """
    return rouge_l_of(encode(candidates, references), beta=beta, workers=workers)


def rouge_l_of(captions: EncodedCaptions, *, beta: float = 1.2, workers: int = 1) -> MetricScores:
    """`rouge_l` of captions that were read before, by `crosslens_metrics.encoding.encode`."""
    captions = captions.cut_at_single_spaces()
    lengths = captions.lengths
    per_image = np.diff(captions.caption_starts) - 1
    candidates = np.repeat(captions.candidates, per_image)
    references = np.delete(np.arange(len(lengths)), captions.candidates)
    shared = _shared(captions, candidates, references, workers)
    first_pairs = np.concatenate(([0], per_image.cumsum()[:-1]))
    precision = np.maximum.reduceat(shared / lengths[candidates], first_pairs)
    recall = np.maximum.reduceat(shared / lengths[references], first_pairs)
    weighted = recall + beta**2 * precision
    scores = np.zeros(captions.n_images)
    np.divide((1 + beta**2) * precision * recall, weighted, out=scores, where=weighted > 0)
    return MetricScores(float(scores.mean()), scores)


def _shared(captions: EncodedCaptions, first: Numbers, second: Numbers, workers: int) -> Numbers:
    """The length of the longest common subsequence of each pair of captions."""
    lengths = captions.lengths
    short = np.where(lengths[first] <= lengths[second], first, second)
    long = first + second - short
    shared = np.zeros(len(first), dtype=np.int64)
    parts = list(_parts(lengths[short], lengths[long]))
    job = partial(_shared_of_part, captions, short, long)
    for (_, pairs), longest in zip(parts, side_by_side(job, parts, workers=workers), strict=True):
        shared[pairs] = longest
    return shared


def _parts(short_lengths: Numbers, long_lengths: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Pairs whose shorter caption fits into the same number of bits, the longer ones about equally long."""
    narrower = 0
    for width in WIDTHS:
        pairs = np.flatnonzero((short_lengths > narrower) & (short_lengths <= width))
        narrower = width
        pairs = pairs[long_lengths[pairs].argsort(kind="stable")]
        while len(pairs):
            # As wide as the longest, which is the last.
            here = long_lengths[pairs[: COMPARISONS_AT_ONCE // width]]
            comparisons = width * here * np.arange(1, len(here) + 1)
            many = max(1, int(np.searchsorted(comparisons, COMPARISONS_AT_ONCE, side="right")))
            yield width, pairs[:many]
            pairs = pairs[many:]
    pairs = np.flatnonzero(short_lengths > WIDTHS[-1])
    if len(pairs):
        yield 0, pairs


def _shared_of_part(
    captions: EncodedCaptions, short: Numbers, long: Numbers, part: tuple[int, Numbers]
) -> NDArray[np.int64]:
    width, pairs = part
    if not width:
        return np.array([_shared_of_long(captions, *pair) for pair in zip(short[pairs], long[pairs], strict=True)])
    columns = _padded(captions, short[pairs], width, NO_WORD)
    rows = _padded(captions, long[pairs], int(captions.lengths[long[pairs]].max()), NO_OTHER_WORD)
    # Bit i of matches[j, pair] says that word j of the one is word i of the other.
    equal = np.packbits(rows[:, :, None] == columns[:, None, :], axis=2, bitorder="little")
    matches = np.ascontiguousarray(equal.view(f"<u{width // 8}")[:, :, 0].T)
    left = np.full(len(pairs), np.iinfo(matches.dtype).max, dtype=matches.dtype)
    for match in matches:
        common = left & match
        left = (left + common) | (left - common)
    return width - np.bitwise_count(left).astype(np.int64)


def _padded(captions: EncodedCaptions, which: Numbers, width: int, filler: int) -> NDArray[np.int32]:
    """The words of captions, shape (len(which), width)."""
    places = captions.word_starts[which][:, None] + np.arange(width)
    words = captions.words.take(places, mode="clip")
    words[np.arange(width) >= captions.lengths[which][:, None]] = filler
    return words


def _shared_of_long(captions: EncodedCaptions, short: int, long: int) -> int:
    """The same with Python's numbers, which have as many bits as wanted."""
    one, other = (captions.words[captions.word_starts[c] : captions.word_starts[c + 1]].tolist() for c in (short, long))
    matches: dict[int, int] = {}
    for place, word in enumerate(one):
        matches[word] = matches.get(word, 0) | 1 << place
    full = (1 << len(one)) - 1
    left = full
    for word in other:
        common = left & matches.get(word, 0)
        left = ((left + common) | (left - common)) & full
    return len(one) - left.bit_count()
