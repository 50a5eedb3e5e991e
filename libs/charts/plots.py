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
from typing import Any

from charts import texts
from charts.texts import place_x
from crosslens_metrics.sampling.intervals import Interval

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


DrawnPlot = dict[str, Any]
"""What `_plot.html` needs, and the template that extends it for one kind of plot.

The tooltip of a mark shows its `name` and `value`. A `kind` goes into the name of the class that draws it.
"""


@dataclass(frozen=True)
class IntervalEstimate:
    """Something with an interval. Without `value` only its name stands there, and `text` says why."""

    label: str
    text: str
    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class NumberedDot:
    """One of those whose `name` and `number` a legend explains; `text` is its value as written."""

    number: int
    name: str
    value: float
    text: str


@dataclass(frozen=True)
class PlotPoint:
    """`kind` goes into the name of the class that draws it: full for “core”, hollow for “rest”."""

    x: float
    y: float
    kind: str


def curve_plot(title: str, points: Sequence[tuple[float, float]], *, summary: str, x_name: str) -> DrawnPlot:
    """Join `points`, across and up, none below zero, in their order, over two axes that begin at zero.

    With few points, each has a mark.
    """
    x_ends, y_ends = ((0.0, round_end(max((point[axis] for point in points), default=0.0))) for axis in (0, 1))
    across, up = _places(x_ends, BESIDE_NUMBERS), _heights(y_ends, CURVE_TOP, CURVE_HEIGHT)
    marks = [
        {
            "x": across(x),
            "y": up(y),
            "name": f"{x_name} {texts.plain_number(x, 0)}",
            "value": texts.plain_number(y, POINT_DIGITS),
        }
        for x, y in points
    ]
    return {
        "title": title,
        "summary": summary,
        "x_name": x_name,
        **_axis(CURVE_TOP + CURVE_HEIGHT, BESIDE_NUMBERS, below=AXIS_HEIGHT + 20),
        "segments": list(pairwise(marks)),
        "points": marks if len(marks) <= MAX_MARKS else [],
        "x_ticks": _ticks(x_ends, across),
        "y_ticks": _ticks(y_ends, up),
        "has_upright_lines": False,
    }


def bar_plot(title: str, bars: Iterable[tuple[str, int, str]]) -> DrawnPlot:
    """`bars`: name, count, kind. They stand under one another, and the longest has the highest count."""
    counts = list(bars)
    highest = max((count for _, count, _ in counts), default=0) or 1
    drawn = []
    for number, (label, count, kind) in enumerate(counts):
        width, y = MAX_BAR_WIDTH * count / highest, number * BAR_ROW
        drawn.append(
            {
                "label": label,
                "value": str(count),
                "kind": kind,
                "width": place_x(width),
                "value_x": place_x(LABEL_END + 1 + width),
                "y": y + 4,
                "text_y": y + BAR_ROW // 2 + 5,
            }
        )
    return {
        "title": title,
        "summary": "; ".join(f"{label}: {count}" for label, count, _ in counts),
        "height": BAR_ROW * len(drawn),
        "label_x": place_x(LABEL_END - 1),
        "bar_x": place_x(LABEL_END),
        "bars": drawn,
    }


def range_plot(
    title: str,
    estimates: Sequence[IntervalEstimate],
    *,
    reference: float,
    ends: tuple[float, float] | None = None,
    step: float | None = None,
    has_short_labels: bool = False,
) -> DrawnPlot:
    """`reference` is where nothing is to be seen, such as a gain of zero. Without `ends` the axis is even around it.

    `step` is from tick to tick; chosen where none is given. Short labels stand beside their tracks, others above.
    """
    ends = ends or _even_ends(estimates, reference)
    start = BESIDE_SHORT_LABELS if has_short_labels else 100 - TRACK_ENDS
    place = _places(ends, start)
    rows, bottom = [], 0
    for estimate in estimates:
        row, bottom = _row(estimate, bottom, place, has_short_labels=has_short_labels)
        rows.append(row)
    return {
        "title": title,
        "summary": "; ".join(f"{estimate.label}: {estimate.text}" for estimate in estimates),
        **_axis(bottom + 4, start),
        "rows": rows,
        "x_ticks": _ticks(ends, place, reference=reference, step=step),
    }


def dot_plot(title: str, rows: Sequence[tuple[str, Sequence[NumberedDot]]], *, ends: tuple[float, float]) -> DrawnPlot:
    """`rows`: a short label and the dots on its track, of which the first are drawn above the later ones."""
    place = _places(ends, BESIDE_SHORT_LABELS)
    return {
        "title": title,
        "summary": "; ".join(
            f"{label}: " + ", ".join(f"{dot.name} {dot.text}" for dot in dots) for label, dots in rows if dots
        ),
        **_axis(DOT_ROW * len(rows) + 4, BESIDE_SHORT_LABELS),
        "rows": [
            {
                "label": label,
                "text_y": number * DOT_ROW + DOT_ROW // 2 + 5,
                "track_y": number * DOT_ROW + DOT_ROW // 2,
                "marks": [
                    {"name": f"{label}, {dot.name}", "value": dot.text, "number": dot.number, "x": place(dot.value)}
                    for dot in reversed(dots)
                ],
            }
            for number, (label, dots) in enumerate(rows)
        ],
        "x_ticks": _ticks(ends, place),
    }


def scatter_plot(title: str, points: Sequence[PlotPoint], *, summary: str, x_name: str, y_name: str) -> DrawnPlot:
    """Put points over two axes that are even around zero."""
    x_ends, y_ends = (_reach([getattr(point, axis) for point in points], 0) for axis in ("x", "y"))
    across, up = _places(x_ends, BESIDE_NUMBERS), _heights(y_ends, SCATTER_TOP, SCATTER_HEIGHT)
    return {
        "title": title,
        "summary": summary,
        "x_name": x_name,
        "y_name": y_name,
        **_axis(SCATTER_TOP + SCATTER_HEIGHT, BESIDE_NUMBERS, below=AXIS_HEIGHT + LINE_HEIGHT),
        "points": [
            {
                "x": across(point.x),
                "y": up(point.y),
                "kind": point.kind,
                "name": f"{x_name} {texts.signed_number(point.x, POINT_DIGITS)}",
                "value": f"{y_name} {texts.signed_number(point.y, POINT_DIGITS)}",
            }
            for point in points
        ],
        "x_ticks": _ticks(x_ends, across, reference=0),
        "y_ticks": _ticks(y_ends, up, reference=0),
        "top": SCATTER_TOP,
    }


def round_end(highest: float) -> float:
    """A whole number of ticks, so that an axis from zero to it holds `highest`."""
    if highest <= MIN_REACH:
        return 1.0
    step = _step(highest / 2)
    return step * math.ceil(highest / step - 1e-9)


def _axis(axis_y: int, start: float, *, below: int = AXIS_HEIGHT) -> dict[str, Any]:
    """An axis across the page, from whose ticks lines go up to `top`, unless a plot says otherwise."""
    about = {"axis_y": axis_y, "height": axis_y + below, "start_x": place_x(start), "end_x": place_x(TRACK_ENDS)}
    return {**about, "has_upright_lines": True, "top": 0}


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
) -> tuple[dict[str, Any], int]:
    """The row that begins at `top`, and where the next one does."""
    if has_short_labels:
        lines = [{"text": estimate.label, "y": top + 18}]
        track_y, bottom = top + 14, top + SHORT_ROW
    else:
        texts = [(text, False) for text in wrap(estimate.label, MAX_LINE_CHARACTERS)] + [(estimate.text, True)]
        lines = [
            {"text": text, "y": top + number * LINE_HEIGHT - 2, "is_note": is_note}
            for number, (text, is_note) in enumerate(texts, 1)
        ]
        track_y = top + len(lines) * LINE_HEIGHT + 8
        bottom = top + len(lines) * LINE_HEIGHT + TRACK_HEIGHT
    interval = estimate.interval
    row = {
        "name": estimate.label,
        "value": estimate.text,
        "lines": lines,
        "track_y": track_y,
        "x": "" if estimate.value is None else place(estimate.value),
        "low_x": "" if interval is None else place(interval.low),
        "high_x": "" if interval is None else place(interval.high),
    }
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
) -> list[dict[str, Any]]:
    low, high = ends
    step = step or _step((high - low) / 2)
    values = [step * at for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [
        {
            "label": texts.plain_number(value, digits),
            "at": place(value),
            "is_reference": reference is not None and math.isclose(value, reference, abs_tol=1e-9),
        }
        for value in values
    ]


def _step(reach: float) -> float:
    """1, 2 or 5 times a power of ten, so that few of them make up twice `reach`."""
    rough = 2 * reach / MAX_TICKS
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * (1 - 1e-9))
