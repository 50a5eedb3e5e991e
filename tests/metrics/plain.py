"""The metrics of captions written plainly, caption by caption: slow, and short enough to be seen to be right."""

from __future__ import annotations

from collections import Counter
from math import exp, log, sqrt

ORDERS = (1, 2, 3, 4)


def n_grams(words, n):
    return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))


def document_frequencies(references):
    """How many images have the n-gram in a reference."""
    counts: Counter[tuple[str, ...]] = Counter()
    for of_image in references:
        counts.update({gram for text in of_image for n in ORDERS for gram in n_grams(text.split(), n)})
    return counts


def plain_cider(candidates, references, *, documents=None, counts=None, clipped=False, sigma=None):
    """CIDEr of each image, as in Vedantam et al. (2015); with `clipped` and `sigma` it is CIDEr-D.

    `documents` and `counts` are those of the references where they are not given.
    """
    documents = len(references) if documents is None else documents
    counts = document_frequencies(references) if counts is None else counts

    def weights(text, n):
        grams = n_grams(text.split(), n)
        return {gram: often * (log(documents) - log(max(1, counts.get(gram, 0)))) for gram, often in grams.items()}

    def similarity(candidate, reference, n):
        ours, theirs = weights(candidate, n), weights(reference, n)
        total = 0.0
        for gram, weight in ours.items():
            other = theirs.get(gram, 0.0)
            total += (min(weight, other) if clipped else weight) * other
        norms = sqrt(sum(w * w for w in ours.values())) * sqrt(sum(w * w for w in theirs.values()))
        return total / norms if norms else total

    def penalty(candidate, reference):
        if sigma is None:
            return 1.0
        # Lengths are counted in pairs of words, as the public tool does.
        pairs = [max(0, len(text.split()) - 1) for text in (candidate, reference)]
        return exp(-((pairs[0] - pairs[1]) ** 2) / (2 * sigma**2))

    scores = []
    for candidate, of_image in zip(candidates, references, strict=True):
        total = sum(similarity(candidate, text, n) * penalty(candidate, text) for text in of_image for n in ORDERS)
        scores.append(10 * total / len(ORDERS) / len(of_image))
    return scores


def plain_rouge_l(candidates, references, *, beta=1.2):
    """ROUGE-L of each image. Words are what single spaces separate: two in a row have an empty word between them."""
    scores = []
    for candidate, of_image in zip(candidates, references, strict=True):
        ours = candidate.split(" ")
        shared = [(longest_common_subsequence(ours, text.split(" ")), len(text.split(" "))) for text in of_image]
        precision = max(length / len(ours) for length, _ in shared)
        recall = max(length / words for length, words in shared)
        weighted = recall + beta**2 * precision
        scores.append((1 + beta**2) * precision * recall / weighted if weighted else 0.0)
    return scores


def longest_common_subsequence(first, second):
    before = [0] * (len(second) + 1)
    for word in first:
        row = [0]
        for place, other in enumerate(second):
            row.append(before[place] + 1 if word == other else max(before[place + 1], row[place]))
        before = row
    return before[-1]


def plain_bleu(candidates, references):
    """BLEU-1 to 4 of each image, and of the corpus as the last row; the closest reference's length counts."""
    sums: Counter[object] = Counter()
    rows = []
    for candidate, of_image in zip(candidates, references, strict=True):
        words = candidate.split()
        counts: Counter[object] = Counter({"length": len(words)})
        counts["closest"] = min((abs(len(text.split()) - len(words)), len(text.split())) for text in of_image)[1]
        for n in ORDERS:
            best: Counter[tuple[str, ...]] = Counter()
            for text in of_image:
                best |= n_grams(text.split(), n)
            counts["guessed", n] = max(0, len(words) - n + 1)
            counts["right", n] = (n_grams(words, n) & best).total()
        rows.append(_bleu(counts))
        sums.update(counts)
    return [*rows, _bleu(sums)]


def _bleu(counts):
    scores, product = [], 1.0
    for n in ORDERS:
        product *= (counts["right", n] + 1e-15) / (counts["guessed", n] + 1e-9)
        scores.append(product ** (1 / n))
    ratio = (counts["length"] + 1e-15) / (counts["closest"] + 1e-9)
    brevity = exp(1 - 1 / ratio) if ratio < 1 else 1.0
    return [score * brevity for score in scores]
