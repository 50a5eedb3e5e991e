"""A gain with its intervals, and how many images it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from crosslens_metrics import gains, images_needed
from crosslens_metrics.gains import MIN_RATERS, DecidedImages
from crosslens_metrics.reports.comparison_figures import (
    ComparisonOutcome,
    GainFigure,
    GainPrecision,
    SeveralTests,
    SignTest,
    UndefinedComparison,
    WithOtherRaters,
    value_or_reason,
)
from crosslens_metrics.sampling import significance
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import Interval

WIDTH_POINTS = 10.0
"""(ours) For an interval of this width, ± 5 points, the report says how many images it takes."""


def anytime_interval(wins: int, losses: int, images: int, raters: int) -> Interval:
    """The interval of a gain, with these raters, that holds however often somebody looks.

    Parameters
    ----------
    wins, losses, images : int
        As for `gains.gain`.
    raters : int

    Returns
    -------
    Interval
        In percentage points.

    Raises
    ------
    UndefinedFigureError
        Without images.
    """
    gains.gain(wins, losses, images)
    design = SamplingDesign(Method.ANYTIME, {Factor.IMAGE: images})
    interval = significance.anytime_interval(wins, losses, images).times(100).of(design)
    return with_fixed(interval, {Factor.RATER: raters})


def with_fixed(interval: Interval, fixed: Mapping[Factor, int]) -> Interval:
    """The same interval, with what its design does not know to be fixed.

    Parameters
    ----------
    interval : Interval
    fixed : mapping of int by Factor
        How many of each; 0 where none is known.

    Returns
    -------
    Interval
    """
    known = {factor: number for factor, number in fixed.items() if number}
    if not (interval.design and known):
        return interval
    return interval.of(replace(interval.design, fixed=known))


def gain_figure(
    points: float, published: Callable[[], Interval], decided: DecidedImages, *, comparisons: int = 0
) -> GainFigure:
    """A gain with both of its intervals.

    Parameters
    ----------
    points : float
    published : callable
        The interval over images, with these raters.
    decided : DecidedImages
        What the gain is of.
    comparisons : int
        Of a pooled gain, how many comparisons it is of: they are fixed.

    Returns
    -------
    GainFigure
        In percentage points.
    """
    pooled = {Factor.COMPARISON: comparisons}

    def with_others() -> WithOtherRaters:
        interval, p = gains.with_other_raters(decided)
        images = value_or_reason(lambda: images_needed.images_to_see_with_other_raters(decided))
        return WithOtherRaters(with_fixed(interval, pooled), p, images)

    return GainFigure(
        points,
        value_or_reason(lambda: with_fixed(published(), pooled | {Factor.RATER: decided.raters})),
        value_or_reason(with_others),
        decided.raters,
        "other_raters" if decided.raters >= MIN_RATERS else "interval",
    )


def several_tests(
    figures: Sequence[tuple[GainFigure | UndefinedComparison, SignTest | UndefinedComparison]], *, corrected: bool
) -> tuple[SeveralTests, ...]:
    """The p-values of several comparisons, plain, or corrected for all of them by Holm's method.

    Of 36 comparisons of equally good models four in five times at least one has a plain p-value below 0.05.

    - returned: in the same order.
    """
    columns: list[list[float | None]] = [
        [test.p if isinstance(test, SignTest) else None for _gain, test in figures],
        [_p_of_others(gain) for gain, _test in figures],
    ]
    rows = zip(*(_holm(column) if corrected else column for column in columns), strict=True)
    return tuple(SeveralTests(*row) for row in rows)


def _p_of_others(gain: GainFigure | UndefinedComparison) -> float | None:
    others = gain.other_raters if isinstance(gain, GainFigure) else gain
    return others.p if isinstance(others, WithOtherRaters) else None


def _holm(p_values: Sequence[float | None]) -> list[float | None]:
    known: Iterator[float] = iter(significance.holm([p for p in p_values if p is not None]).tolist())
    return [None if p is None else next(known) for p in p_values]


def precision_of(outcome: ComparisonOutcome) -> GainPrecision | UndefinedComparison:
    """How many images the gain of an outcome takes, with these raters."""
    images = outcome.images.denominator
    if isinstance(outcome.gain, UndefinedComparison):
        return outcome.gain

    counts = (outcome.wins.count, outcome.losses.count, images)

    def precision() -> GainPrecision:
        needed = images_needed.images_needed(*counts, width_points=WIDTH_POINTS)
        to_see = value_or_reason(lambda: images_needed.images_to_see(*counts))
        return GainPrecision(WIDTH_POINTS, needed, max(0, needed - images), to_see)

    return value_or_reason(precision)
