"""How far one metric agrees with people, and how much further than another: figures of reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.correlation_intervals import (
    ComparedModels,
    LeaveOneOut,
    correlation_difference,
    correlation_interval,
    evaluation_interval,
    leave_one_out,
)
from crosslens_metrics.correlation_permutations import PermutationTest, permutation_test
from crosslens_metrics.correlations import Coefficient, correlation
from crosslens_metrics.reports.figures import ReportFigure, UndefinedScore, as_json, value_or_reason
from crosslens_metrics.sampling.designs import SamplingDesign
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.sampling.significance import holm

Figures = NDArray[np.float64]


@dataclass(frozen=True)
class TestFigure(ReportFigure):
    """Of the permutations of the models; `smallest` is the smallest p that so many of them allow.

    `holm` is the p-value corrected for all metrics of the report, by the same coefficient over the same evaluations.
    """

    p: float
    holm: float
    smallest: float
    permutations: int
    is_exact: bool


@dataclass(frozen=True)
class CorrelationFigure(ReportFigure):
    """A coefficient, its 95% interval over models and over evaluations; None where it was not asked for or no model
    is known.
    """

    value: float | UndefinedScore
    interval: Interval | UndefinedScore | None = None
    test: TestFigure | UndefinedScore | None = None
    over_evaluations: Interval | UndefinedScore | None = None


@dataclass(frozen=True)
class MetricAgreement(ReportFigure):
    """Points are two per evaluation where signs were flipped too, else one. `design` is of the interval over models."""

    evaluations: int
    points: int
    models: int | None
    languages: int | None
    design: SamplingDesign | UndefinedScore | None
    coefficients: dict[Coefficient, CorrelationFigure]

    @property
    def degrees_of_freedom(self) -> int | None:
        return min(self.design.varies.values()) - 1 if isinstance(self.design, SamplingDesign) else None

    @property
    def smallest_p(self) -> float | None:
        tests = (figure.test for figure in self.coefficients.values())
        return next((test.smallest for test in tests if isinstance(test, TestFigure)), None)

    def as_json(self) -> dict[str, Any]:
        of_each = {str(coefficient): as_json(value) for coefficient, value in self.coefficients.items()}
        counts = {"evaluations": self.evaluations, "points": self.points}
        if self.design is None:
            return counts | of_each
        about = {"models": self.models, "languages": self.languages, "degrees_of_freedom": self.degrees_of_freedom}
        return counts | about | {"design": self.design.as_json()} | of_each


@dataclass(frozen=True)
class DifferenceFigure(ReportFigure):
    """Of Fisher's z, first − second; `holm` is the p-value corrected for all pairs of metrics in the report."""

    z: float
    interval: Interval
    degrees_of_freedom: int
    p: float
    holm: float


@dataclass(frozen=True)
class MetricDifferences(ReportFigure):
    """Two metrics over the evaluations that both have."""

    first: str
    second: str
    evaluations: int
    coefficients: dict[Coefficient, DifferenceFigure | UndefinedScore]

    def as_json(self) -> dict[str, Any]:
        about = {"first": self.first, "second": self.second, "evaluations": self.evaluations}
        return about | {str(coefficient): as_json(value) for coefficient, value in self.coefficients.items()}


@dataclass(frozen=True)
class EvaluationPoints:
    """People's and a metric's differences of some evaluations, their models, and their weights, None for once each."""

    people: Figures
    metric: Figures
    compared: ComparedModels | None
    weights: Figures | None

    def of(self, chosen: NDArray[np.bool_]) -> EvaluationPoints:
        return EvaluationPoints(
            self.people[chosen],
            self.metric[chosen],
            None if self.compared is None else self.compared.of(chosen),
            None if self.weights is None else self.weights[chosen],
        )

    def leave_one_out(self, coefficient: Coefficient, *, flip: bool) -> LeaveOneOut:
        assert self.compared is not None
        return leave_one_out(
            self.people, self.metric, self.compared, coefficient=coefficient, flip=flip, weights=self.weights
        )


def agreement(points: EvaluationPoints, *, flip: bool, resamples: int | None, seed: int) -> MetricAgreement:
    """All coefficients of one metric with people.

    Every figure is from the same seed, so that it does not depend on which others are asked for.

    Parameters
    ----------
    points : EvaluationPoints
    flip : bool
        Whether each evaluation also gives the point with both signs flipped.
    resamples : int or None
        Of the interval over evaluations. None for no intervals and tests.
    seed : int
        May be negative.

    Returns
    -------
    MetricAgreement
    """
    compared, evaluations = points.compared, len(points.people)

    def found(coefficient: Coefficient) -> CorrelationFigure:
        how: dict[str, Any] = {"coefficient": coefficient, "flip": flip}
        figures = (points.people, points.metric)
        value = value_or_reason(lambda: correlation(*figures, **how, weights=points.weights))
        if resamples is None or isinstance(value, UndefinedScore):
            return CorrelationFigure(value)
        over = value_or_reason(
            lambda: evaluation_interval(*figures, **how, weights=points.weights, resamples=resamples, rng=_rng(seed))
        )
        if compared is None:
            return CorrelationFigure(value, over_evaluations=over)
        interval = value_or_reason(lambda: correlation_interval(points.leave_one_out(coefficient, flip=flip)))
        test = value_or_reason(lambda: _test(permutation_test(*figures, compared, **how, rng=_rng(seed))))
        return CorrelationFigure(value, interval, test, over)

    return MetricAgreement(
        evaluations=evaluations,
        points=evaluations * (2 if flip else 1),
        models=None if compared is None else len(compared.models),
        languages=None if compared is None else len(compared.languages),
        design=None if compared is None else value_or_reason(lambda: compared.design),
        coefficients={coefficient: found(coefficient) for coefficient in Coefficient},
    )


def _test(test: PermutationTest) -> TestFigure:
    return TestFigure(test.p, test.p, test.smallest, test.permutations, test.is_exact)


def corrected_tests(by_metric: Mapping[str, MetricAgreement]) -> dict[str, MetricAgreement]:
    """The same with p-values corrected for all metrics by Holm's method: of many, the best may be so by chance."""
    coefficients: dict[str, dict[Coefficient, CorrelationFigure]] = {name: {} for name in by_metric}
    for coefficient in Coefficient:
        figures = {name: agreed.coefficients[coefficient] for name, agreed in by_metric.items()}
        plain = {name: one.test.p for name, one in figures.items() if isinstance(one.test, TestFigure)}
        corrected = dict(zip(plain, holm(list(plain.values())).tolist(), strict=True))
        for name, one in figures.items():
            test = replace(one.test, holm=corrected[name]) if isinstance(one.test, TestFigure) else one.test
            coefficients[name][coefficient] = replace(one, test=test)
    return {name: replace(agreed, coefficients=coefficients[name]) for name, agreed in by_metric.items()}


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed % 2**64)


def differences_of(
    points: Mapping[str, EvaluationPoints],
    used: Mapping[str, NDArray[np.bool_]],
    pairs: Sequence[tuple[str, str]],
    *,
    flip: bool,
) -> tuple[MetricDifferences, ...]:
    """How much nearer to people the first metric of each pair is than the second, over the evaluations of both.

    Parameters
    ----------
    points : mapping of EvaluationPoints by metric
        Of all evaluations.
    used : mapping of ndarray of bool by metric
        Which of them are points.
    pairs : sequence of tuple of str
        Holm's correction is over all of them, for each coefficient.
    flip : bool

    Returns
    -------
    tuple of MetricDifferences
    """

    @cache
    def without(metric: str, coefficient: Coefficient, both: bytes) -> LeaveOneOut | UndefinedScore:
        chosen = points[metric].of(np.frombuffer(both, dtype=bool))
        return value_or_reason(lambda: chosen.leave_one_out(coefficient, flip=flip))

    shared = [used[first] & used[second] for first, second in pairs]
    found: list[dict[Coefficient, DifferenceFigure | UndefinedScore]] = [{} for _pair in pairs]
    for coefficient in Coefficient:
        plain = []
        for (first, second), both in zip(pairs, shared, strict=True):
            one, other = (without(metric, coefficient, both.tobytes()) for metric in (first, second))
            plain.append(_plain_difference(one, other))
        tests = [figure for figure in plain if not isinstance(figure, UndefinedScore)]
        corrected = iter(holm([test.p for test in tests]).tolist())
        for figures, figure in zip(found, plain, strict=True):
            if not isinstance(figure, UndefinedScore):
                figure = replace(figure, holm=next(corrected))
            figures[coefficient] = figure
    return tuple(
        MetricDifferences(first, second, int(both.sum()), figures)
        for (first, second), both, figures in zip(pairs, shared, found, strict=True)
    )


def _plain_difference(
    one: LeaveOneOut | UndefinedScore, other: LeaveOneOut | UndefinedScore
) -> DifferenceFigure | UndefinedScore:
    if isinstance(one, UndefinedScore):
        return one
    if isinstance(other, UndefinedScore):
        return other
    found = value_or_reason(lambda: correlation_difference(one, other))
    if isinstance(found, UndefinedScore):
        return found
    return DifferenceFigure(found.z, found.interval, found.degrees_of_freedom, found.p, found.p)
