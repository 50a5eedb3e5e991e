"""Test whether one model is significantly better than another by a metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.paired import PairedDifference, paired_difference, paired_difference_of_sums
from crosslens_metrics.reports.figures import UndefinedScore, value_or_reason
from crosslens_metrics.scoring import OF_REFERENCES
from crosslens_metrics.signatures import Signature
from crosslens_metrics.sums import statistic_of
from research.scoring.models import Score, Scoring
from research.scoring.rules.packing import unpack_floats, unpack_integers
from research.scoring.selectors.images import shared_places
from research.scoring.selectors.restricting import ImageRestriction, PartOfPass, figures_of_part
from research.scoring.selectors.scores import WITHOUT_COLUMNS, current_pass, differences_between
from research.scoring.selectors.some_figures import (
    OF_A_PAGE,
    SomeFigures,
    figures_in,
    is_within,
    keeps_frequencies,
    saying_frequencies_are_kept,
)

RESAMPLES = 10_000
SEED = 20_200
"""The same scores give the same figures whenever they are asked for."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedResult:
    """The result of `test` against `base` over the images of both passes.

    `difference` is of the corpus figures over these images, which are all of either where `left_out` is 0.
    `warnings` say what the signatures differ in; where there is any, the two should not be compared.
    """

    metric: str
    test: Score
    base: Score
    images: int
    left_out: int
    """Images that only one of the two was scored on."""
    difference: PairedDifference | UndefinedScore
    warnings: Sequence[str]


@dataclass(frozen=True)
class _ComparedSide:
    score: Score
    images: NDArray[np.int64]
    figures: Floats
    """Shape (n_images,): of each image; or (n_images, n_sums): what each adds to the sums that the figure follows from.
    """


def paired_result(
    *,
    test: Scoring,
    base: Scoring,
    metric: str,
    method: str,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    only: ImageRestriction | None = None,
) -> PairedResult | None:
    """Compute the result; None if one of the two has no figure by `metric` yet.

    With `only`, it is over the images that a filter leaves, and so are the values of `test` and `base`.
    """
    one, other = _side(test, metric, only), _side(base, metric, only)
    if one is None or other is None:
        return None
    of_one, of_other = shared_places(one.images, other.images)
    ours, theirs = one.figures[of_one], other.figures[of_other]
    return PairedResult(
        metric=metric,
        test=one.score,
        base=other.score,
        images=len(ours),
        left_out=len(one.images) + len(other.images) - 2 * len(ours),
        difference=value_or_reason(lambda: _difference(one.score.signature, ours, theirs, method, resamples, seed)),
        warnings=differences_between(one.score.signature, other.score.signature),
    )


def common_metrics(test: Scoring, base: Scoring) -> list[str]:
    """List the figures that both have, in the order of the first."""
    names = [
        list(
            Score.objects.filter(scoring_pass=scoring_pass, value__isnull=False)
            .order_by("pk")
            .values_list("metric", flat=True)
        )
        for scoring_pass in (current_pass(test), current_pass(base))
    ]
    return [name for name in names[0] if name in names[1]]


def _side(scoring: Scoring, metric: str, only: ImageRestriction | None) -> _ComparedSide | None:
    done = current_pass(scoring)
    kept = Score.objects.filter(scoring_pass=done, metric=metric, value__isnull=False)
    score = kept.defer(*WITHOUT_COLUMNS).first()
    if done is None or score is None:
        return None
    # Apart from the row, which is kept long after its bytes have been read.
    values, sums = kept.values_list("values", "sums").get()
    ids = unpack_integers(done.image_ids)
    stored = figures_in(score.signature, unpack_floats(values), unpack_floats(sums))
    if only is None:
        return _ComparedSide(score, ids, stored.sums if len(stored.sums) else stored.values)
    part = PartOfPass(done, ids, only.mask(ids, scoring.references.language_id))
    over = value_or_reason(lambda: _figures_of(metric, stored, part, only))
    if isinstance(over, UndefinedScore) or not part.images:
        score.value = None
        return _ComparedSide(score, ids[:0], stored.values[:0])
    score.value = over.value
    if keeps_frequencies(over.signature):
        score.signature = saying_frequencies_are_kept(score.signature)
    return _ComparedSide(score, ids[part.mask], over.sums if len(over.sums) else over.values)


def _figures_of(metric: str, stored: SomeFigures, part: PartOfPass, only: ImageRestriction) -> SomeFigures:
    is_recomputed = is_within(OF_A_PAGE, part.scoring_pass, part.images)
    return figures_of_part(metric, stored, part, only=only, is_recomputed=is_recomputed)


def _difference(
    signature: str, ours: Floats, theirs: Floats, method: str, resamples: int, seed: int
) -> PairedDifference:
    rng = np.random.default_rng(seed)
    parts = Signature.parse(signature)
    statistic = statistic_of(parts)
    if statistic is None:
        are_independent = parts.get("df") != OF_REFERENCES
        return paired_difference(
            ours, theirs, method=method, resamples=resamples, rng=rng, are_independent=are_independent
        )
    return paired_difference_of_sums(ours, theirs, statistic=statistic, method=method, resamples=resamples, rng=rng)
