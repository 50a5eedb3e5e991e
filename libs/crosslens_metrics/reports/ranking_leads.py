"""The leads of models in a ranking: their intervals, and the p-values that decide whether two are separable."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics import images_needed, ranking
from crosslens_metrics.gains import MIN_RATERS
from crosslens_metrics.reports.comparison_figures import UndefinedComparison, value_or_reason
from crosslens_metrics.sampling import significance
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import Interval, student_interval
from crosslens_metrics.sampling.variance import unanimous_interval
from crosslens_metrics.undefined import UndefinedReason

THESE, OTHERS = 0, 1
"""Places of the interval with these raters, and of that with others like them."""
TwoIntervals = tuple[Interval | UndefinedComparison, Interval | UndefinedComparison]


@dataclass(frozen=True)
class PairTests:
    """The lead of a pair, and its intervals and plain p-values, by place."""

    lead: float
    intervals: TwoIntervals
    p: tuple[float, float] = (1.0, 1.0)
    p_to_correct: float = 1.0
    images: int = 0
    raters: int = 0

    @property
    def is_defined(self) -> bool:
        return isinstance(self.intervals[THESE], Interval)

    @property
    def primary(self) -> int:
        return OTHERS if isinstance(self.intervals[OTHERS], Interval) else THESE

    def images_needed(self) -> int:
        """How many images there have to be, judged by the same raters.

        Raises UndefinedFigureError if no number of images is enough.
        """
        these, others = self.intervals
        assert isinstance(these, Interval)
        if not isinstance(others, Interval):
            return ranking.images_to_separate(self.lead, these, images=self.images)
        images_needed.refuse_few_raters(self.raters)
        # Where raters agree the interval reaches further to the side of zero, which is the one to leave out.
        reach = Interval(others.low, 2 * self.lead - others.low)
        return ranking.images_to_separate(self.lead, these, images=self.images, other_raters=reach)


class RankingLeads:
    """The leads of models over each other, and over the mean of the largest set of well-linked models."""

    def __init__(
        self,
        table: NDArray[np.float64],
        bounds: list[ranking.StrengthBound],
        variances: ranking.StrengthVariances,
        strengths: NDArray[np.float64],
        images: int,
        raters: int,
        alike: float,
    ) -> None:
        self._table, self._bounds, self._variances = table, bounds, variances
        self._strengths, self._images, self._raters, self._alike = strengths, images, raters, alike
        self._groups, self._linked = ranking.groups(table), ranking.well_linked(table)
        self._these = SamplingDesign(Method.STUDENT, {Factor.IMAGE: images}, {Factor.RATER: raters} if raters else {})
        self._others = SamplingDesign(Method.TWO_WAY, {Factor.IMAGE: images, Factor.RATER: raters})

    def of_model(self, model: int) -> TwoIntervals:
        if self._bounds[model] != ranking.StrengthBound.JUDGEMENTS:
            # What only the prior keeps finite would look certain.
            is_group = self._bounds[model] == ranking.StrengthBound.GROUP
            why = UndefinedReason.GROUP_UNBOUNDED if is_group else UndefinedReason.STRENGTH_UNBOUNDED
            return UndefinedComparison(why), UndefinedComparison(why)
        linked = self._linked == np.bincount(self._linked).argmax()
        if linked.sum() < 2 or not linked[model]:
            why = UndefinedReason.FEW_WINS
            return UndefinedComparison(why), UndefinedComparison(why)
        contrast = linked / -linked.sum()
        contrast[model] += 1
        return self._intervals(contrast, float(self._strengths[model]))

    def of_pair(self, one: int, other: int) -> TwoIntervals:
        if self._groups[one] != self._groups[other]:
            is_compared = self._table[one, other] + self._table[other, one] > 0
            why = UndefinedReason.STRENGTH_UNBOUNDED if is_compared else UndefinedReason.NOT_COMPARED
            return UndefinedComparison(why), UndefinedComparison(why)
        if self._linked[one] != self._linked[other]:
            why = UndefinedReason.FEW_WINS
            return UndefinedComparison(why), UndefinedComparison(why)
        return self._intervals(self._contrast(one, other), self._lead(one, other))

    def tests_of(self, one: int, other: int) -> PairTests:
        lead, intervals = self._lead(one, other), self.of_pair(one, other)
        tests = PairTests(lead, intervals, images=self._images, raters=self._raters)
        if not tests.is_defined:
            return tests
        contrast = self._contrast(one, other)
        p = significance.student_p(lead, *self._variances.with_these_raters(contrast))
        if tests.primary == THESE:
            return replace(tests, p=(p, p), p_to_correct=p)
        variance, freedom = self._variances.with_other_raters(contrast)
        least = significance.unanimous_p(self._raters, lead, reach=abs(lead), alike=self._alike)
        of_others, to_correct = (
            max(least, significance.student_p(lead, variance, of))
            for of in (freedom, freedom_to_correct(freedom, self._raters))
        )
        return replace(tests, p=(p, of_others), p_to_correct=to_correct)

    def _lead(self, one: int, other: int) -> float:
        return float(self._strengths[one] - self._strengths[other])

    def _contrast(self, one: int, other: int) -> NDArray[np.float64]:
        contrast = np.zeros(len(self._strengths))
        contrast[one], contrast[other] = 1, -1
        return contrast

    def _intervals(self, contrast: NDArray[np.float64], value: float) -> TwoIntervals:
        def these() -> Interval:
            return student_interval(value, *self._variances.with_these_raters(contrast)).of(self._these)

        def others() -> Interval:
            clustered = student_interval(value, *self._variances.with_other_raters(contrast))
            # Whoever is not like these raters may see the same lead the other way round.
            reach = abs(value)
            seen = unanimous_interval(self._raters, value, low=-reach, high=reach, alike=self._alike)
            return Interval(min(clustered.low, seen.low), max(clustered.high, seen.high), self._others)

        return value_or_reason(these), value_or_reason(others)


def freedom_to_correct(freedom: float, raters: int) -> float:
    """The degrees of freedom of a lead's p-value that is to be corrected for all pairs of a ranking.

    With fewer than `MIN_RATERS` raters no more than these have: the correction asks how far out a lead is, where
    Satterthwaite's degrees of freedom promise too much. With three raters they find a difference of four equal models
    in up to 13%. From five on it is no more than 6%, and a cap would cost up to two thirds of the power
    (docs/statistics.md).

    - `freedom`: satterthwaite's.
    """
    return min(freedom, raters - 1) if raters < MIN_RATERS else freedom
