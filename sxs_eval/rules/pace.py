"""How long judgements take: what adds up to hours is the mean, and not the median of times that are skewed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sxs_eval.rules.planning import PACE_S, SECONDS_PER_HOUR

MIN_TIMED = 20
"""(ours) The fewest judgements whose mean predicts the pace."""


class RaterTimes(NamedTuple):
    """The timed judgements of one rater: their number, the sum of their seconds, and that of the squares."""

    judgements: int
    seconds: float
    squares: float


@dataclass(frozen=True)
class JudgingPace:
    """Mean active seconds per judgement, from so many `judgements`; 0 of them if it is assumed or given.

    `deviation` is the standard deviation of one judgement, `error` the standard error of the mean over raters, whose
    number is `raters`. Of fewer than two raters nobody knows how far others differ.
    """

    seconds: float = PACE_S
    judgements: int = 0
    raters: int = 0
    deviation: float = 0.0
    error: float = 0.0

    @property
    def quantile(self) -> float | None:
        """How many standard errors a 95% interval of the hours reaches to either side, by Student's t over raters."""
        from crosslens_metrics.sampling.intervals import student_quantile

        return float(student_quantile(self.raters - 1)) if self.raters > 1 else None

    def within_hours(self, items: int) -> float | None:
        """How far the hours of so many judgements may be off: 95% of the times; None where it is not known."""
        if self.quantile is None:
            return None
        variance = items * self.deviation**2 + (items * self.error) ** 2
        return self.quantile * math.sqrt(variance) / SECONDS_PER_HOUR


def pace_of(raters: Sequence[RaterTimes]) -> JudgingPace:
    """Compute the pace from the times of all raters; the default if there are too few."""
    number = sum(one.judgements for one in raters)
    if number < MIN_TIMED:
        return JudgingPace()
    mean = sum(one.seconds for one in raters) / number
    variance = (sum(one.squares for one in raters) - number * mean**2) / (number - 1)
    off = sum((one.seconds - mean * one.judgements) ** 2 for one in raters) / number**2
    many = len(raters)
    error = math.sqrt(off * many / (many - 1)) if many > 1 else 0.0
    return JudgingPace(mean, number, many, math.sqrt(max(variance, 0.0)), error)
