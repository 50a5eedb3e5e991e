"""Plots as numbers: where each bar and each interval of an SVG goes. Templates draw them, the style sheet colours them.

Along the axis places are in percent of the width and text keeps its size, so that one plot is readable on a phone and
on a wide screen; down the page they are in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap

from charts import texts
from charts.texts import place_x
from crosslens_metrics.intervals import Interval

BAR_ROW = 30
LABEL_END = 41.0
"""Percent of the width that the names of bars take."""
MAX_BAR_WIDTH = 46.0
LINE_HEIGHT, TRACK_HEIGHT, SHORT_ROW = 18, 24, 26
MAX_LINE_CHARACTERS = 40
"""Characters of a name that a phone has room for."""
TRACK_ENDS = 98.0
BESIDE_SHORT_LABELS = 36.0
BESIDE_NUMBERS = 14.0
AXIS_HEIGHT = 28
DOT_ROW = 28
SCATTER_TOP, SCATTER_HEIGHT = 26, 320
CURVE_TOP, CURVE_HEIGHT = 26, 160
MAX_MARKS = 40
MAX_TICKS = 6
POINT_DIGITS = 3
MIN_REACH = 1e-6
"""What is nearer to the reference than that is rounding."""


@dataclass(frozen=True)
class ChartBar:
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
    bars: Sequence[ChartBar]


@dataclass(frozen=True)
class IntervalEstimate:
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
class EstimateRow:
    """Whoever points at it reads `name` and `value`, as for all marks here."""

    name: str
    value: str
    lines: Sequence[TextLine]
    track_y: int
    x: str
    low_x: str
    high_x: str


@dataclass(frozen=True)
class AxisTick:
    label: str
    at: str
    is_reference: bool


@dataclass(frozen=True, kw_only=True)
class AxisPlot:
    """What lies over an axis across the page, and beside an upright one where there are `y_ticks`.

    With `has_upright_lines` a line goes from each tick of the axis up to `top`.
    """

    title: str
    summary: str
    height: int
    axis_y: int
    start_x: str
    end_x: str = place_x(TRACK_ENDS)
    x_ticks: Sequence[AxisTick]
    y_ticks: Sequence[AxisTick] = ()
    has_upright_lines: bool = True
    top: int = 0


@dataclass(frozen=True, kw_only=True)
class RangePlot(AxisPlot):
    """Estimates under one another. With `has_short_labels` they stand beside their tracks, else above."""

    has_short_labels: bool
    rows: Sequence[EstimateRow]


@dataclass(frozen=True)
class NumberedDot:
    """One of those whose `name` and `number` a legend explains; `text` is its value as written."""

    number: int
    name: str
    value: float
    text: str


@dataclass(frozen=True)
class DotMark:
    name: str
    value: str
    number: int
    x: str


@dataclass(frozen=True)
class DotRow:
    label: str
    text_y: int
    track_y: int
    marks: Sequence[DotMark]


@dataclass(frozen=True, kw_only=True)
class DotPlot(AxisPlot):
    """Numbered dots on one track for each label."""

    rows: Sequence[DotRow]


@dataclass(frozen=True)
class PlotPoint:
    """`kind` goes into the name of the class that draws it: full for “core”, hollow for “rest”."""

    x: float
    y: float
    kind: str


@dataclass(frozen=True)
class PointMark:
    x: str
    y: str
    kind: str
    name: str
    value: str


@dataclass(frozen=True, kw_only=True)
class ScatterPlot(AxisPlot):
    """Points over two axes that are even around zero."""

    x_name: str
    y_name: str
    points: Sequence[PointMark]


@dataclass(frozen=True, kw_only=True)
class CurvePlot(AxisPlot):
    """A line from point to point over two axes that begin at zero; with few points, each has a mark."""

    x_name: str
    segments: Sequence[tuple[PointMark, PointMark]]
    points: Sequence[PointMark]


def curve_plot(title: str, points: Sequence[tuple[float, float]], *, summary: str, x_name: str) -> CurvePlot:
    """`points`: across and up, none below zero, in the order in which the line joins them."""
    x_ends, y_ends = ((0.0, round_end(max((point[axis] for point in points), default=0.0))) for axis in (0, 1))
    across, up = _places(x_ends, BESIDE_NUMBERS), _heights(y_ends, CURVE_TOP, CURVE_HEIGHT)
    marks = [
        PointMark(across(x), up(y), "core", f"{x_name} {texts.plain_number(x, 0)}", texts.plain_number(y, POINT_DIGITS))
        for x, y in points
    ]
    return CurvePlot(
        title=title,
        summary=summary,
        x_name=x_name,
        height=CURVE_TOP + CURVE_HEIGHT + AXIS_HEIGHT + 20,
        axis_y=CURVE_TOP + CURVE_HEIGHT,
        start_x=place_x(BESIDE_NUMBERS),
        segments=list(pairwise(marks)),
        points=marks if len(marks) <= MAX_MARKS else [],
        x_ticks=_ticks(x_ends, across),
        y_ticks=_ticks(y_ends, up),
        has_upright_lines=False,
    )


def bar_plot(title: str, bars: Iterable[tuple[str, int, str]]) -> BarPlot:
    """`bars`: name, count, kind. The longest bar has the highest count."""
    counts = list(bars)
    highest = max((count for _, count, _ in counts), default=0) or 1
    drawn = []
    for number, (label, count, kind) in enumerate(counts):
        width = MAX_BAR_WIDTH * count / highest
        y = number * BAR_ROW
        drawn.append(
            ChartBar(
                label, str(count), kind, place_x(width), place_x(LABEL_END + 1 + width), y + 4, y + BAR_ROW // 2 + 5
            ),
        )
    summary = "; ".join(f"{label}: {count}" for label, count, _ in counts)
    return BarPlot(title, summary, BAR_ROW * len(drawn), place_x(LABEL_END - 1), place_x(LABEL_END), drawn)


def range_plot(
    title: str,
    estimates: Sequence[IntervalEstimate],
    *,
    reference: float,
    ends: tuple[float, float] | None = None,
    step: float | None = None,
    has_short_labels: bool = False,
) -> RangePlot:
    """`reference` is where nothing is to be seen, such as a gain of zero. Without `ends` the axis is even around it.

    `step` is from tick to tick; chosen where none is given.
    """
    ends = ends or _even_ends(estimates, reference)
    start = BESIDE_SHORT_LABELS if has_short_labels else 100 - TRACK_ENDS
    place = _places(ends, start)
    rows, bottom = [], 0
    for estimate in estimates:
        row, bottom = _row(estimate, bottom, place, has_short_labels=has_short_labels)
        rows.append(row)
    axis_y = bottom + 4
    return RangePlot(
        title=title,
        summary="; ".join(f"{estimate.label}: {estimate.text}" for estimate in estimates),
        has_short_labels=has_short_labels,
        height=axis_y + AXIS_HEIGHT,
        axis_y=axis_y,
        start_x=place_x(start),
        rows=rows,
        x_ticks=_ticks(ends, place, reference=reference, step=step),
    )


def dot_plot(title: str, rows: Sequence[tuple[str, Sequence[NumberedDot]]], *, ends: tuple[float, float]) -> DotPlot:
    """`rows`: a short label and its dots, of which the first are drawn above the later ones."""
    place = _places(ends, BESIDE_SHORT_LABELS)
    axis_y = DOT_ROW * len(rows) + 4
    return DotPlot(
        title=title,
        summary="; ".join(
            f"{label}: " + ", ".join(f"{dot.name} {dot.text}" for dot in dots) for label, dots in rows if dots
        ),
        height=axis_y + AXIS_HEIGHT,
        axis_y=axis_y,
        start_x=place_x(BESIDE_SHORT_LABELS),
        rows=[
            DotRow(
                label,
                number * DOT_ROW + DOT_ROW // 2 + 5,
                number * DOT_ROW + DOT_ROW // 2,
                [DotMark(f"{label}, {dot.name}", dot.text, dot.number, place(dot.value)) for dot in reversed(dots)],
            )
            for number, (label, dots) in enumerate(rows)
        ],
        x_ticks=_ticks(ends, place),
    )


def scatter_plot(title: str, points: Sequence[PlotPoint], *, summary: str, x_name: str, y_name: str) -> ScatterPlot:
    x_ends, y_ends = (_reach([getattr(point, axis) for point in points], 0) for axis in ("x", "y"))
    across, up = _places(x_ends, BESIDE_NUMBERS), _heights(y_ends, SCATTER_TOP, SCATTER_HEIGHT)
    return ScatterPlot(
        title=title,
        summary=summary,
        x_name=x_name,
        y_name=y_name,
        height=SCATTER_TOP + SCATTER_HEIGHT + AXIS_HEIGHT + LINE_HEIGHT,
        axis_y=SCATTER_TOP + SCATTER_HEIGHT,
        start_x=place_x(BESIDE_NUMBERS),
        points=[
            PointMark(
                across(point.x),
                up(point.y),
                point.kind,
                f"{x_name} {texts.signed_number(point.x, POINT_DIGITS)}",
                f"{y_name} {texts.signed_number(point.y, POINT_DIGITS)}",
            )
            for point in points
        ],
        x_ticks=_ticks(x_ends, across, reference=0),
        y_ticks=_ticks(y_ends, up, reference=0),
        top=SCATTER_TOP,
    )


def round_end(highest: float) -> float:
    """A whole number of ticks, so that an axis from zero to it holds `highest`."""
    if highest <= MIN_REACH:
        return 1.0
    step = _step(highest / 2)
    return step * math.ceil(highest / step - 1e-9)


def _places(ends: tuple[float, float], start: float) -> Callable[[float], str]:
    low, high = ends

    def place(value: float) -> str:
        share = (min(max(value, low), high) - low) / (high - low)
        return place_x(start + share * (TRACK_ENDS - start))

    return place


def _heights(ends: tuple[float, float], top: int, height: int) -> Callable[[float], str]:
    low, high = ends
    return lambda value: f"{top + (1 - (value - low) / (high - low)) * height:.1f}"


def _row(
    estimate: IntervalEstimate, top: int, place: Callable[[float], str], *, has_short_labels: bool
) -> tuple[EstimateRow, int]:
    """The row that begins at `top`, and where the next one does."""
    if has_short_labels:
        lines, track_y, bottom = [TextLine(estimate.label, top + 18, is_note=False)], top + 14, top + SHORT_ROW
    else:
        texts = [(text, False) for text in wrap(estimate.label, MAX_LINE_CHARACTERS)] + [(estimate.text, True)]
        lines = [
            TextLine(text, top + number * LINE_HEIGHT - 2, is_note) for number, (text, is_note) in enumerate(texts, 1)
        ]
        track_y = top + len(lines) * LINE_HEIGHT + 8
        bottom = top + len(lines) * LINE_HEIGHT + TRACK_HEIGHT
    interval = estimate.interval
    row = EstimateRow(
        name=estimate.label,
        value=estimate.text,
        lines=lines,
        track_y=track_y,
        x="" if estimate.value is None else place(estimate.value),
        low_x="" if interval is None else place(interval.low),
        high_x="" if interval is None else place(interval.high),
    )
    return row, bottom


def _even_ends(estimates: Sequence[IntervalEstimate], reference: float) -> tuple[float, float]:
    values = [estimate.value for estimate in estimates if estimate.value is not None]
    for estimate in estimates:
        values += [estimate.interval.low, estimate.interval.high] if estimate.interval else []
    return _reach(values, reference)


def _reach(values: Sequence[float], reference: float) -> tuple[float, float]:
    farthest = max((abs(value - reference) for value in values), default=0.0)
    farthest = farthest if farthest > MIN_REACH else 1.0
    step = _step(farthest)
    reach = step * math.ceil(farthest / step - 1e-9)
    return reference - reach, reference + reach


def _ticks(
    ends: tuple[float, float],
    place: Callable[[float], str],
    *,
    reference: float | None = None,
    step: float | None = None,
) -> list[AxisTick]:
    low, high = ends
    step = step or _step((high - low) / 2)
    values = [step * at for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [
        AxisTick(
            texts.plain_number(value, digits),
            place(value),
            is_reference=reference is not None and math.isclose(value, reference, abs_tol=1e-9),
        )
        for value in values
    ]


def _step(reach: float) -> float:
    """1, 2 or 5 times a power of ten, so that few of them make up twice `reach`."""
    rough = 2 * reach / MAX_TICKS
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * (1 - 1e-9))
