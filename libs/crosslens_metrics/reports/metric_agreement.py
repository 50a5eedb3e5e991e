"""How far automatic differences stand in for people's, over all evaluations and over some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.correlation_intervals import correlation_interval
from crosslens_metrics.correlations import Coefficient, correlation
from crosslens_metrics.intervals import Interval
from crosslens_metrics.language_tags import comparable
from crosslens_metrics.reports.figures import ReportFigure, as_json
from crosslens_metrics.reports.score_figures import UndefinedScore, value_or_reason

RESAMPLES = 10_000
ALL, GROUP, REST = "all", "group", "rest"
METHOD = "percentile bootstrap over evaluations"


@dataclass(frozen=True)
class CorrelationFigure(ReportFigure):
    """A coefficient with its 95% interval; None where no interval was asked for."""

    value: float | UndefinedScore
    interval: Interval | UndefinedScore | None


@dataclass(frozen=True)
class MetricAgreement(ReportFigure):
    """Points are two per evaluation where signs were flipped too, else one."""

    evaluations: int
    points: int
    coefficients: dict[Coefficient, CorrelationFigure]

    def as_json(self) -> dict[str, Any]:
        of_each = {str(coefficient): as_json(value) for coefficient, value in self.coefficients.items()}
        return {"evaluations": self.evaluations, "points": self.points} | of_each


@dataclass(frozen=True)
class EvaluationPart:
    """Evaluations that are looked at by themselves; `chosen` has a truth value for each evaluation."""

    key: str
    name: str
    chosen: NDArray[np.bool_]


def agreement(human: ArrayLike, metric: ArrayLike, *, flip: bool, resamples: int | None, seed: int) -> MetricAgreement:
    """All coefficients of one metric with people.

    Every figure is resampled from the same seed, so that it does not depend on which others are asked for.

    Parameters
    ----------
    human, metric : array_like of float, shape (n_evaluations,)
        Differences of the same pairs of models.
    flip : bool
        Whether each evaluation also gives the point with both signs flipped.
    resamples : int or None
        None for no intervals.
    seed : int
        May be negative.

    Returns
    -------
    MetricAgreement
    """
    people, automatic = np.asarray(human, dtype=float), np.asarray(metric, dtype=float)

    def found(coefficient: Coefficient) -> CorrelationFigure:
        value = value_or_reason(lambda: correlation(people, automatic, coefficient=coefficient, flip=flip))
        if resamples is None or isinstance(value, UndefinedScore):
            return CorrelationFigure(value, None)
        interval = value_or_reason(
            lambda: correlation_interval(
                people,
                automatic,
                coefficient=coefficient,
                flip=flip,
                resamples=resamples,
                rng=np.random.default_rng(seed % 2**64),
            )
        )
        return CorrelationFigure(value, interval)

    return MetricAgreement(
        evaluations=len(people),
        points=len(people) * (2 if flip else 1),
        coefficients={coefficient: found(coefficient) for coefficient in Coefficient},
    )


def group_parts(column: str, cells: Sequence[str], values: Sequence[str]) -> list[EvaluationPart]:
    """Those whose cell is one of the values, whatever its capitals, and the rest."""
    wanted = {comparable(value) for value in values}
    chosen = np.array([comparable(cell) in wanted for cell in cells], dtype=bool)
    named = ", ".join(values)
    return [
        EvaluationPart(GROUP, f"{column} is {named}", chosen),
        EvaluationPart(REST, f"{column} is not {named}", ~chosen),
    ]


def is_mirrored(human: Sequence[Decimal], metric: Sequence[Decimal]) -> bool:
    """Whether each point comes as often as its mirror image: the signs were flipped before."""
    points = Counter(zip(human, metric, strict=True))
    return len(points) > 1 and points == Counter({(-x, -y): times for (x, y), times in points.items()})
