"""Plots as numbers: where each bar and each interval of an SVG goes. Templates draw them, the style sheet colours them.

Along the axis places are in percent of the width and text keeps its size, so that one plot is readable on a phone and
on a wide screen; down the page they are in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from corpus.pages import shown
from metrics.intervals import Interval

BAR_ROW = 30
LABEL_END = 41.0
"""Percent of the width that the names of bars take."""
LONGEST_BAR = 46.0
LINE_HEIGHT, TRACK_HEIGHT, SHORT_ROW = 18, 24, 26
LONGEST_LINE = 40
"""Characters of a name that a phone has room for."""
TRACK_ENDS = 98.0
AXIS_HEIGHT = 28
MOST_TICKS = 6
LEAST_REACH = 1e-6
"""What is nearer to the reference than that is rounding."""


@dataclass(frozen=True)
class Bar:
    """`kind` goes into the name of the class that colours it."""

    label: str
    value: str
    kind: str
    width: str
    value_x: str
    y: int
    text_y: int


@dataclass(frozen=True)
class BarPlot:
    """Bars under one another, each with its name and value."""

    title: str
    summary: str
    height: int
    label_x: str
    bar_x: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Estimate:
    """Something with an interval. Without `value` only its name stands there, and `text` says why."""

    label: str
    text: str
    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class TextLine:
    text: str
    y: int
    is_note: bool


@dataclass(frozen=True)
class Row:
    lines: Sequence[TextLine]
    track_y: int
    x: str
    low_x: str
    high_x: str


@dataclass(frozen=True)
class Tick:
    label: str
    x: str
    is_reference: bool


@dataclass(frozen=True)
class RangePlot:
    """Estimates under one another on one axis. With `has_short_labels` they stand beside their tracks, else above."""

    title: str
    summary: str
    has_short_labels: bool
    height: int
    axis_y: int
    start_x: str
    end_x: str
    rows: Sequence[Row]
    ticks: Sequence[Tick]


def bar_plot(title: str, bars: Iterable[tuple[str, int, str]]) -> BarPlot:
    """`bars`: name, count, kind. The longest bar has the highest count."""
    counts = list(bars)
    highest = max((count for _, count, _ in counts), default=0) or 1
    drawn = []
    for number, (label, count, kind) in enumerate(counts):
        width = LONGEST_BAR * count / highest
        y = number * BAR_ROW
        drawn.append(
            Bar(label, str(count), kind, _x(width), _x(LABEL_END + 1 + width), y + 4, y + BAR_ROW // 2 + 5),
        )
    summary = "; ".join(f"{label}: {count}" for label, count, _ in counts)
    return BarPlot(title, summary, BAR_ROW * len(drawn), _x(LABEL_END - 1), _x(LABEL_END), drawn)


def range_plot(
    title: str,
    estimates: Sequence[Estimate],
    *,
    reference: float,
    ends: tuple[float, float] | None = None,
    step: float | None = None,
    has_short_labels: bool = False,
) -> RangePlot:
    """`reference` is where nothing is to be seen, such as a gain of zero. Without `ends` the axis is even around it.

    `step` is from tick to tick; chosen where none is given.
    """
    low, high = ends or _even_ends(estimates, reference)
    start = 36.0 if has_short_labels else 100 - TRACK_ENDS

    def place(value: float) -> str:
        share = (min(max(value, low), high) - low) / (high - low)
        return _x(start + share * (TRACK_ENDS - start))

    rows, bottom = [], 0
    for estimate in estimates:
        row, bottom = _row(estimate, bottom, place, has_short_labels=has_short_labels)
        rows.append(row)
    axis_y = bottom + 4
    step = step or _step((high - low) / 2)
    return RangePlot(
        title=title,
        summary="; ".join(f"{estimate.label}: {estimate.text}" for estimate in estimates),
        has_short_labels=has_short_labels,
        height=axis_y + AXIS_HEIGHT,
        axis_y=axis_y,
        start_x=_x(start),
        end_x=_x(TRACK_ENDS),
        rows=rows,
        ticks=[
            Tick(_tick_label(value, step), place(value), math.isclose(value, reference, abs_tol=1e-9))
            for value in _ticks(low, high, step)
        ],
    )


def _row(estimate: Estimate, top: int, place: Callable[[float], str], *, has_short_labels: bool) -> tuple[Row, int]:
    """The row that begins at `top`, and where the next one does."""
    if has_short_labels:
        lines, track_y, bottom = [TextLine(estimate.label, top + 18, is_note=False)], top + 14, top + SHORT_ROW
    else:
        texts = [(text, False) for text in wrap(estimate.label, LONGEST_LINE)] + [(estimate.text, True)]
        lines = [
            TextLine(text, top + number * LINE_HEIGHT - 2, is_note) for number, (text, is_note) in enumerate(texts, 1)
        ]
        track_y = top + len(lines) * LINE_HEIGHT + 8
        bottom = top + len(lines) * LINE_HEIGHT + TRACK_HEIGHT
    interval = estimate.interval
    row = Row(
        lines=lines,
        track_y=track_y,
        x="" if estimate.value is None else place(estimate.value),
        low_x="" if interval is None else place(interval.low),
        high_x="" if interval is None else place(interval.high),
    )
    return row, bottom


def _even_ends(estimates: Sequence[Estimate], reference: float) -> tuple[float, float]:
    values = [estimate.value for estimate in estimates if estimate.value is not None]
    for estimate in estimates:
        values += [estimate.interval.low, estimate.interval.high] if estimate.interval else []
    farthest = max((abs(value - reference) for value in values), default=0.0)
    farthest = farthest if farthest > LEAST_REACH else 1.0
    step = _step(farthest)
    reach = step * math.ceil(farthest / step - 1e-9)
    return reference - reach, reference + reach


def _ticks(low: float, high: float, step: float) -> list[float]:
    first = math.ceil(low / step - 1e-9)
    return [step * number for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _step(reach: float) -> float:
    """1, 2 or 5 times a power of ten, so that few of them make up twice `reach`."""
    rough = 2 * reach / MOST_TICKS
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * (1 - 1e-9))


def _tick_label(value: float, step: float) -> str:
    return shown.plain(value, max(0, -math.floor(math.log10(step) + 1e-9)))


def _x(percent: float) -> str:
    """Always with a point: the language of the page has no say in an attribute."""
    return f"{percent:.2f}%"
