"""Proposed metrics judged by the ranks that they give models, beside those of standard metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.model_ranks import TiedRanks, model_ranks, rank_agreement
from crosslens_metrics.reports.score_figures import UndefinedScore, value_or_reason

MAX_SUMMED = 10
"""Metrics have 1,013 sums of two or more."""


@dataclass(frozen=True)
class RankTable:
    """`agreement` by proposed and by standard metric; `ranks` by metric, 1 for the best, in the order of the models."""

    agreement: dict[str, dict[str, float | UndefinedScore]]
    ranks: dict[str, NDArray[np.float64]]


def rank_table(
    proposed: Mapping[str, Sequence[Fraction]],
    standard: Mapping[str, Sequence[Fraction]],
    *,
    ties: TiedRanks = TiedRanks.MEAN,
) -> RankTable:
    """The correlation of each proposed metric's ranks with each standard one's.

    Scores are exact, so that models are tied where they are by the figures as written, of sums too.

    Parameters
    ----------
    proposed, standard : mapping of str to sequence of Fraction, length n_models
        Scores by metric; higher is better.
    ties : TiedRanks
        Which rank equal scores share.

    Returns
    -------
    RankTable
    """
    floats = {name: [float(score) for score in scores] for name, scores in {**standard, **proposed}.items()}

    def agreement(one: str, other: str) -> float | UndefinedScore:
        return value_or_reason(lambda: rank_agreement(floats[one], floats[other], ties=ties))

    return RankTable(
        agreement={one: {other: agreement(one, other) for other in standard} for one in proposed},
        ranks={name: model_ranks(scores, ties=ties) for name, scores in floats.items()},
    )


def sums(columns: Mapping[str, Sequence[Fraction]]) -> dict[str, list[Fraction]]:
    """The sum of every two or more columns, named by its parts."""
    return {
        "+".join(parts): [sum(scores, Fraction()) for scores in zip(*(columns[part] for part in parts), strict=True)]
        for number in range(2, len(columns) + 1)
        for parts in combinations(columns, number)
    }


def same_but_for_rounding(
    total: Sequence[Fraction], parts: int, others: Mapping[str, Sequence[Decimal]]
) -> Iterator[tuple[str, Fraction]]:
    """Columns that hold a sum as computed before its parts were rounded, and how far they are apart at most.

    Parameters
    ----------
    total : sequence of Fraction, length n_models
        The sum.
    parts : int
        How many metrics it is of.
    others : mapping of str to sequence of Decimal, length n_models
        Columns as they are written.

    Yields
    ------
    tuple of str and Fraction
        Name of the column, and how far they are apart.
    """
    for name, scores in others.items():
        decimals = max(-int(score.as_tuple().exponent) for score in scores)
        apart = max(abs(Fraction(score) - exact) for score, exact in zip(scores, total, strict=True))
        # Each part and the column itself are off by half a unit of the last place at most.
        if apart <= Fraction(parts + 1, 2) * Fraction(10) ** -decimals and len(set(scores)) > 1:
            yield name, apart
