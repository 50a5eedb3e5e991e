"""Whether one model is better than another by a metric, or may only seem so with these images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metrics.paired import PairedDifference, paired_difference
from scoring.models import Score, Scoring
from scoring.rules.figures import Undefined, defined
from scoring.selectors.images import per_image, shared
from scoring.selectors.scores import current_pass, differences_between

RESAMPLES = 10_000
SEED = 20_200
"""The same scores give the same figures whenever they are asked for."""


@dataclass(frozen=True)
class PairedResult:
    """`test` against `base` over the images of both passes.

    `difference` is of the means over images, which for BLEU and BMRC is not that of the corpus figures.
    `warnings` say what the signatures differ in; where there is any, the two should not be compared.
    """

    metric: str
    test: Score
    base: Score
    images: int
    left_out: int
    """Images that only one of the two was scored on."""
    difference: PairedDifference | Undefined
    warnings: Sequence[str]


def paired_result(
    *, test: Scoring, base: Scoring, metric: str, method: str, resamples: int = RESAMPLES, seed: int = SEED
) -> PairedResult | None:
    """None where one of the two has no figure by `metric` yet."""
    passes = [current_pass(test), current_pass(base)]
    figures = [None if found is None else per_image(found, metric) for found in passes]
    if figures[0] is None or figures[1] is None:
        return None
    rows = [Score.objects.defer("values").get(scoring_pass=found, metric=metric) for found in passes if found]
    ours, theirs = shared(figures[0], figures[1])
    return PairedResult(
        metric=metric,
        test=rows[0],
        base=rows[1],
        images=len(ours),
        left_out=len(figures[0]) + len(figures[1]) - 2 * len(ours),
        difference=defined(
            lambda: paired_difference(
                ours.values, theirs.values, method=method, resamples=resamples, rng=np.random.default_rng(seed)
            )
        ),
        warnings=differences_between(rows[0].signature, rows[1].signature),
    )


def common_metrics(test: Scoring, base: Scoring) -> list[str]:
    """The figures that both have now, in the order of the first's."""
    names = [
        list(
            Score.objects.filter(scoring_pass=found, value__isnull=False)
            .order_by("pk")
            .values_list("metric", flat=True)
        )
        for found in (current_pass(test), current_pass(base))
    ]
    return [name for name in names[0] if name in names[1]]
