"""Figures as text: rounded as people round, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal

from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.score_figures import UndefinedScore

COMPUTED_DIGITS = 12
"""What is beyond is noise of floating-point numbers, and must not decide which way a half is rounded."""


def rounded_number(value: float, digits: int) -> str:
    """Halves go away from zero; there is no minus before zero."""
    exact = Decimal(repr(round(value, COMPUTED_DIGITS)))
    figure = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{figure or abs(figure):f}"


def with_interval(value: float | UndefinedScore, interval: Interval | UndefinedScore | None, digits: int) -> str:
    if isinstance(value, UndefinedScore):
        return "undefined"
    text = rounded_number(value, digits)
    if isinstance(interval, UndefinedScore):
        return f"{text} [undefined]"
    return (
        text
        if interval is None
        else f"{text} [{rounded_number(interval.low, digits)}, {rounded_number(interval.high, digits)}]"
    )


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield "  ".join(["", first.ljust(widths[0]), *cells]).rstrip()
