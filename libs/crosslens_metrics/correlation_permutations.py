"""Whether a correlation of a metric with people can be chance: the scores of whole models change places."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.correlation_intervals import ComparedModels, Values
from crosslens_metrics.correlations import Coefficient, both_finite, correlation, ranks
from crosslens_metrics.on_first_use import scipy
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

Places = NDArray[np.int_]
MAX_EXACT = 5_040
"""Seven models change places in as many ways."""
DRAWN = 9_999
MANY_EVALUATIONS, DRAWN_OF_MANY = 500, 999
"""(ours) So that a page of a thousand evaluations takes seconds and not minutes."""
CELLS_AT_ONCE = 2_000_000
DECIMALS = 12
"""Of the largest difference: what follows is where the least squares stopped."""


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
