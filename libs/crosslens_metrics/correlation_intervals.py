"""How certain a correlation of a metric with people is: over models, over languages, and as if over evaluations.

Evaluations of all pairs of some models in some languages are not independent: each model takes part in many. So whole
models are left out in turn. docs/statistics.md has the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.correlations import Coefficient, both_finite, correlation
from crosslens_metrics.on_first_use import scipy
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import SAME_WITHIN, Interval, student_interval
from crosslens_metrics.sampling.resampling import Weights, bootstrap_interval
from crosslens_metrics.sampling.variance import jackknife
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

Values = NDArray[np.float64]
MIN_MODELS = 3
MAX_IN_TABLE = 2_000
"""Evaluations: tables of the order of all pairs of more would take more than 100 MB."""


@dataclass(frozen=True)
class ComparedModels:
    """Which two models each evaluation is of, and in which language; one language where none is known.

    Parameters
    ----------
    base, test, language : sequence of str, length n_evaluations
    """

    base: Sequence[str]
    test: Sequence[str]
    language: Sequence[str]

    def of(self, chosen: NDArray[np.int_] | NDArray[np.bool_]) -> ComparedModels:
        """Those of some evaluations, by places or truth values."""
        return ComparedModels(
            *(tuple(np.asarray(names, dtype=object)[chosen]) for names in (self.base, self.test, self.language))
        )

    @property
    def models(self) -> list[str]:
        return sorted({*self.base, *self.test})

    @property
    def languages(self) -> list[str]:
        return sorted(set(self.language))

    @property
    def design(self) -> SamplingDesign:
        """Over models; of two models, over languages.

        Raises
        ------
        UndefinedFigureError
            With fewer than three models, unless there are two in two languages or more.
        """
        models, languages = len(self.models), len(self.languages)
        if models >= MIN_MODELS:
            return SamplingDesign(Method.JACKKNIFE, {Factor.MODEL: models}, {Factor.LANGUAGE: languages})
        if models == MIN_MODELS - 1 and languages > 1:
            return SamplingDesign(Method.JACKKNIFE, {Factor.LANGUAGE: languages}, {Factor.MODEL: models})
        raise UndefinedFigureError(UndefinedReason.TOO_FEW_MODELS, "There are too few models and languages.")

    def left_out(self) -> Iterator[NDArray[np.bool_]]:
        """Which evaluations stay without each unit of the design in turn."""
        base, test, language = (np.asarray(names, dtype=object) for names in (self.base, self.test, self.language))
        if Factor.MODEL in self.design.varies:
            yield from ((base != model) & (test != model) for model in self.models)
        else:
            yield from (language != tag for tag in self.languages)


@dataclass(frozen=True)
class LeaveOneOut:
    """Fisher's z of a correlation: of all evaluations, and without each unit of the design in turn."""

    z: float
    left_out: Values


@dataclass(frozen=True)
class CorrelationDifference:
    """How much larger Fisher's z of one metric's correlation with people is; `p` is two-sided, of no difference."""

    z: float
    interval: Interval
    degrees_of_freedom: int
    p: float


def leave_one_out(
    first: ArrayLike,
    second: ArrayLike,
    compared: ComparedModels,
    *,
    coefficient: Coefficient,
    flip: bool,
    weights: ArrayLike | None = None,
) -> LeaveOneOut:
    """Fisher's z of `correlation`, and what it is without each model, with all evaluations in which it takes part.

    Of two models, languages are left out instead.

    Parameters
    ----------
    first, second : array_like of float, shape (n_evaluations,)
        Finite figures of the same evaluations, in the same order.
    compared : ComparedModels
    coefficient : Coefficient
    flip : bool
        Whether each evaluation also gives the point with both signs flipped.
    weights : array_like of float, shape (n_evaluations,), or None
        As `correlation`.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    UndefinedFigureError
        Where the coefficient is undefined, or exactly 1 or −1, or would be so without one of the units; or with too
        few models and languages.

    References
    ----------
    R. A. Fisher (1921), On the probable error of a coefficient of correlation deduced from a small sample.
    """
    x, y = both_finite(first, second)
    counts = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    value = correlation(x, y, coefficient=coefficient, flip=flip, weights=counts)
    if abs(value) >= 1 - SAME_WITHIN:
        raise UndefinedFigureError(UndefinedReason.EXACT_AGREEMENT, "A coefficient of 1 shows no uncertainty.")
    left_out = []
    for stays in compared.left_out():
        try:
            without = correlation(x[stays], y[stays], coefficient=coefficient, flip=flip, weights=counts[stays])
        except UndefinedFigureError:
            without = 1.0
        if abs(without) >= 1 - SAME_WITHIN:
            raise UndefinedFigureError(UndefinedReason.UNIT_NEEDED, "Without one of the units it is undefined or 1.")
        left_out.append(math.atanh(without))
    return LeaveOneOut(math.atanh(value), np.array(left_out))


def correlation_interval(without: LeaveOneOut) -> Interval:
    """The 95% interval of a correlation over models: by the jackknife on Fisher's z, with Student's t.

    Degrees of freedom are one less than there are models.

    Parameters
    ----------
    without : LeaveOneOut

    Returns
    -------
    Interval
        Within −1 to 1.

    Raises
    ------
    UndefinedFigureError
        Where the coefficient is the same without any of the models.

    References
    ----------
    B. Efron and C. Stein (1981), The jackknife estimate of variance.
    """
    spread = jackknife(without.left_out)
    interval = student_interval(without.z, spread.variance, spread.degrees_of_freedom)
    return Interval(math.tanh(interval.low), math.tanh(interval.high))


def correlation_difference(first: LeaveOneOut, second: LeaveOneOut) -> CorrelationDifference:
    """How much nearer to people one metric is than another: by the jackknife of the difference of Fisher's z.

    Parameters
    ----------
    first, second : LeaveOneOut
        Of either metric with people, over the same evaluations.

    Returns
    -------
    CorrelationDifference
        First − second, dimensionless.

    Raises
    ------
    UndefinedFigureError
        Where the difference is the same without any of the models.
    """
    difference, spread = first.z - second.z, jackknife(first.left_out - second.left_out)
    interval = student_interval(difference, spread.variance, spread.degrees_of_freedom)
    distance = abs(difference) / math.sqrt(spread.variance)
    p = 2 * float(scipy.special.stdtr(spread.degrees_of_freedom, -distance))
    return CorrelationDifference(difference, interval, spread.units - 1, p)


def evaluation_interval(
    first: ArrayLike,
    second: ArrayLike,
    *,
    coefficient: Coefficient,
    flip: bool,
    resamples: int,
    rng: np.random.Generator,
    weights: ArrayLike | None = None,
) -> Interval:
    """The 95% percentile bootstrap interval of `correlation` over evaluations, as if they were independent.

    Those that share a model or a language are not, and then it is far too narrow: `correlation_interval` is over
    models. A resampled evaluation brings both of its points.

    Parameters
    ----------
    first, second, coefficient, flip, weights
        As for `leave_one_out`.
    resamples : int
        Of the bootstrap, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    Interval
        Within −1 to 1.

    Raises
    ------
    UndefinedFigureError
        Where the coefficient is undefined, as it is in more than 1% of the resamples (ours), or is the same in all.
    """
    correlation(first, second, coefficient=coefficient, flip=flip, weights=weights)
    x, y = both_finite(first, second)
    own = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)

    def value(times: Values) -> float:
        try:
            return correlation(x, y, coefficient=coefficient, flip=flip, weights=times * own)
        except UndefinedFigureError:
            return math.nan

    def statistic(drawn: Weights) -> Values:
        if coefficient == Coefficient.KENDALL and len(x) <= MAX_IN_TABLE:
            return _kendall_of_weights(x, y, drawn * own, flip=flip)
        return np.array([value(times) for times in drawn])

    return bootstrap_interval(statistic, len(x), resamples=resamples, rng=rng)


def _kendall_of_weights(x: Values, y: Values, weights: Weights, *, flip: bool) -> Values:
    """Of each row of weights of the evaluations, NaN where it is undefined; a loop takes many times as long."""
    of_x, of_y = (np.sign(np.subtract.outer(values, values)) for values in (x, y))
    tables = [of_x * of_y, np.abs(of_x), np.abs(of_y)]
    own = [((weights @ table) * weights).sum(axis=1) for table in tables]
    sums = own
    if flip:
        of_x, of_y = (np.sign(np.add.outer(values, values)) for values in (x, y))
        mirrored = (of_x * of_y, np.abs(of_x), np.abs(of_y))
        sums = [one + ((weights @ table) * weights).sum(axis=1) for one, table in zip(own, mirrored, strict=True)]
    is_defined = (own[1] > 0) & (own[2] > 0)
    spread = np.sqrt(np.where(is_defined, sums[1] * sums[2], 1))
    return np.where(is_defined, sums[0] / spread, np.nan)
