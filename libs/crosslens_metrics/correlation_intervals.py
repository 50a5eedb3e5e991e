"""How certain a correlation of a metric with people is: over models, over languages, and as if over evaluations.

Evaluations of all pairs of some models in some languages are not independent: each model takes part in many. So whole
models are left out in turn, and the scores of whole models change places. docs/statistics.md has the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.correlations import Coefficient, both_finite, correlation, ranks
from crosslens_metrics.on_first_use import scipy
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import SAME_WITHIN, Interval, student_interval
from crosslens_metrics.sampling.resampling import Weights, bootstrap_interval
from crosslens_metrics.sampling.variance import jackknife
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

Values = NDArray[np.float64]
Places = NDArray[np.int_]
MIN_MODELS = 3
MAX_EXACT = 5_040
"""Seven models change places in as many ways."""
DRAWN = 9_999
MANY_EVALUATIONS, DRAWN_OF_MANY = 500, 999
"""(ours) So that a page of a thousand evaluations takes seconds and not minutes."""
CELLS_AT_ONCE = 2_000_000
MAX_IN_TABLE = 2_000
"""Evaluations: tables of the order of all pairs of more would take more than 100 MB."""
DECIMALS = 12
"""Of the largest difference: what follows is where the least squares stopped."""


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


@dataclass(frozen=True)
class PermutationTest:
    """`p` is two-sided; no smaller one than `smallest` is possible with so many `permutations` of the models."""

    p: float
    permutations: int
    is_exact: bool

    @property
    def smallest(self) -> float:
        if self.is_exact and self.permutations <= 2:
            # The other way to order two models only turns the sign, which a two-sided test does not look at.
            return 1.0
        return 1 / (self.permutations + (0 if self.is_exact else 1))


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


def permutation_test(
    people: ArrayLike,
    metric: ArrayLike,
    compared: ComparedModels,
    *,
    coefficient: Coefficient,
    flip: bool,
    rng: np.random.Generator,
) -> PermutationTest:
    """Whether a metric's scores of models have anything to do with people's judgements of them.

    In each language, the metric's differences give scores of the models, by least squares. These change places among
    the models, in all languages alike, and the coefficient is as far from zero as the one seen in a share of the cases
    which is the p-value. Models change places that were compared in the same languages with the same others, if only
    by way of others: in all ways if there are 5,040 at most, else in 9,999 that are drawn, or 999 with more than 500
    evaluations.

    Parameters
    ----------
    people, metric : array_like of float, shape (n_evaluations,)
        Finite differences of the same evaluations, in the same order; they count alike.
    compared, coefficient, flip
        As for `leave_one_out`.
    rng : numpy.random.Generator
        Draws the permutations where they are too many.

    Returns
    -------
    PermutationTest

    Raises
    ------
    UndefinedFigureError
        Where the coefficient is undefined, or no models can change places.

    References
    ----------
    B. Phipson and G. K. Smyth (2010), Permutation p-values should never be zero.
    """
    x, y = both_finite(people, metric)
    correlation(x, y, coefficient=coefficient, flip=flip)
    place = {model: number for number, model in enumerate(compared.models)}
    base, test = (np.array([place[model] for model in names]) for names in (compared.base, compared.test))
    language = np.unique(np.asarray(compared.language, dtype=str), return_inverse=True)[1]
    scores, parts = _scores_by_language(y, base, test, language, len(place))
    scores = np.round(scores / np.abs(y).max(), DECIMALS)
    exchanged, is_exact = _exchanges(parts, DRAWN_OF_MANY if len(x) > MANY_EVALUATIONS else DRAWN, rng)
    at_once = max(1, CELLS_AT_ONCE // len(x))
    values: list[float] = []
    for some in np.split(exchanged, range(at_once, len(exchanged), at_once)):
        differences = scores[language, some[:, test]] - scores[language, some[:, base]]
        values.extend(np.abs(_of_rows(x, differences, coefficient, flip=flip)).tolist())
    hits = sum(value >= values[0] - 1e-9 for value in values)
    # The first is the one seen.
    return PermutationTest(hits / len(values), len(values) if is_exact else len(values) - 1, is_exact)


def _scores_by_language(
    differences: Values, base: Places, test: Places, language: Places, models: int
) -> tuple[Values, NDArray[np.int_]]:
    """Each model's score in each language, and which models it is connected with there, by a number; −1 for none."""
    languages = int(language.max()) + 1
    scores, parts = np.zeros((languages, models)), np.full((languages, models), -1)
    for number in range(languages):
        rows = np.flatnonzero(language == number)
        signs = np.zeros((len(rows), models))
        signs[np.arange(len(rows)), test[rows]] = 1
        signs[np.arange(len(rows)), base[rows]] = -1
        scores[number] = np.linalg.lstsq(signs, differences[rows], rcond=None)[0]
        labels = scipy.sparse.csgraph.connected_components(signs.T @ signs != 0, directed=False)[1]
        parts[number] = np.where(np.abs(signs).any(axis=0), labels, -1)
    return scores, parts


def _exchanges(parts: NDArray[np.int_], drawn: int, rng: np.random.Generator) -> tuple[Places, bool]:
    """Which model's scores each model gets, the models' own first; and whether these are all the ways."""
    models = parts.shape[1]
    group_of = np.unique(parts, axis=1, return_inverse=True)[1].ravel()
    groups = [np.flatnonzero(group_of == group) for group in range(int(group_of.max()) + 1)]
    ways = math.prod(math.factorial(len(group)) for group in groups)
    if ways == 1:
        raise UndefinedFigureError(UndefinedReason.NOT_EXCHANGEABLE, "No models can change places.")
    is_exact = ways <= MAX_EXACT
    exchanged = np.tile(np.arange(models), (ways if is_exact else 1 + drawn, 1))
    if is_exact:
        for row, orders in zip(exchanged, product(*(permutations(group) for group in groups)), strict=True):
            row[np.concatenate(groups)] = np.concatenate(orders)
    else:
        for group in groups:
            exchanged[1:, group] = rng.permuted(np.tile(group, (drawn, 1)), axis=1)
    return exchanged, is_exact


def _of_rows(x: Values, rows: Values, coefficient: Coefficient, *, flip: bool) -> Values:
    """The coefficient of `x` with each row; 0 where it is undefined, since then the two show no agreement."""
    evaluations = len(x)
    if flip:
        x, rows = np.concatenate([x, -x]), np.concatenate([rows, -rows], axis=1)
    # Differences of the same scores are the same, whatever rounding made of them.
    rows = np.round(rows, DECIMALS)
    if coefficient == Coefficient.KENDALL:
        return _kendall_of_rows(x, rows, evaluations)
    if coefficient == Coefficient.SPEARMAN:
        x, rows = ranks(x), np.array([ranks(row) for row in rows])
    elif coefficient == Coefficient.MATTHEWS:
        x, rows = (x > 0).astype(float), (rows > 0).astype(float)
    x, rows = x - x.mean(), rows - rows.mean(axis=1, keepdims=True)
    spread = np.sqrt(x @ x) * np.sqrt((rows * rows).sum(axis=1))
    return np.where(spread > 0, rows @ x / np.where(spread > 0, spread, 1), 0.0)


def _kendall_of_rows(x: Values, rows: Values, evaluations: int) -> Values:
    """Of all points; those after the `evaluations` are mirror images, whose pairs say the same once more.

    Whole numbers and truth values are compared thirty times as fast as floats are subtracted.
    """
    x_order, *orders = np.unique(np.vstack([x, rows]), return_inverse=True)[1].reshape(-1, len(x)).astype(np.int32)
    x_above, x_below = _above_and_below(x_order, evaluations)
    x_untied = np.count_nonzero(x_above) + np.count_nonzero(x_below)
    values = np.zeros(len(rows))
    for number, order in enumerate(orders):
        above, below = _above_and_below(order, evaluations)
        if untied := np.count_nonzero(above) + np.count_nonzero(below):
            same = np.count_nonzero(x_above & above) + np.count_nonzero(x_below & below)
            opposite = np.count_nonzero(x_above & below) + np.count_nonzero(x_below & above)
            values[number] = (same - opposite) / math.sqrt(x_untied * untied)
    return values


def _above_and_below(order: NDArray[np.int32], evaluations: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    return order[:evaluations, None] > order, order[:evaluations, None] < order


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
