"""Columns side by side, of days or of lengths: where each goes. Templates draw the rest, the style sheet colours them.

Along the axis places are in percent of the width and text keeps its size, so that one plot is readable on a phone and
on a wide screen; down the page they are in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import NamedTuple

from django.utils.safestring import SafeString

from charts import texts
from charts.plots import round_end
from charts.texts import joined_html, place_x

START, END = 13.0, 99.0
"""Percent of the width: left of it stand the numbers of the axis."""
TOP, AXIS = 10, 24
WHOLE = 0.05
"""What is nearer to a whole number has no decimals."""
COLUMN_SHARE = 0.84
"""Of the room that a column has, with the gap after it."""
MAX_COLUMN_WIDTH = 6.0
"""Percent of the width: a few columns are no broader than many."""


COLUMN = (
    '<rect class="plot__bar plot__bar--images" data-name="{4}" data-value="{5}" x="{0}" y="{1}" width="{2}" '
    'height="{3}"><title>{4}: {5}</title></rect>'
)


LINE = (
    '<line class="plot__tick" x1="{3}" x2="{4}" y1="{1}" y2="{1}" />'
    '<text class="plot__note" x="{3}" y="{2}" dx="-6" text-anchor="end" aria-hidden="true">{0}</text>'
)
LABEL = '<text class="plot__note" x="{1}" y="{3}" text-anchor="{2}" aria-hidden="true">{0}</text>'


class ColumnMark(NamedTuple):
    x: str
    y: str
    width: str
    height: str
    name: str
    value: str


class ColumnLabel(NamedTuple):
    text: str
    x: str
    anchor: str


class GridLine(NamedTuple):
    text: str
    y: str
    text_y: str


@dataclass(frozen=True)
class ColumnPlot:
    title: str
    summary: str
    height: int
    axis_y: int
    label_y: int
    start_x: str
    end_x: str
    columns: Sequence[ColumnMark]
    labels: Sequence[ColumnLabel]
    lines: Sequence[GridLine]

    @property
    def marks(self) -> SafeString:
        """The columns, over the lines behind them."""
        behind = joined_html(LINE, ((*line, self.start_x, self.end_x) for line in self.lines))
        return behind + joined_html(COLUMN, self.columns)

    @property
    def names(self) -> SafeString:
        return joined_html(LABEL, ((*label, self.label_y) for label in self.labels))


def column_plot(
    title: str,
    columns: Sequence[tuple[str, float]],
    *,
    summary: str,
    height: int = 180,
    highest: float | None = None,
    as_percent: bool = False,
) -> ColumnPlot:
    """`columns`: what each is of, and its value: percent, or a count. Plots that are to be compared share `highest`."""
    written = partial(_written, as_percent=as_percent)
    if highest is None:
        highest = max((value for _, value in columns), default=0)
    end = round_end(highest) if as_percent else _even_end(highest)
    bottom = TOP + height
    room = (END - START) / max(1, len(columns))
    width = min(room * COLUMN_SHARE, MAX_COLUMN_WIDTH)
    marks = []
    for number, (name, value) in enumerate(columns):
        tall = height * min(value, end) / end
        if value > 0:
            marks.append(
                ColumnMark(
                    x=place_x(START + number * room + (room - width) / 2),
                    y=f"{bottom - tall:.1f}",
                    width=place_x(width),
                    height=f"{tall:.1f}",
                    name=name,
                    value=written(value),
                )
            )
    return ColumnPlot(
        title=title,
        summary=summary,
        height=bottom + AXIS,
        axis_y=bottom,
        label_y=bottom + 17,
        start_x=place_x(START),
        end_x=place_x(END),
        columns=marks,
        labels=_labels([name for name, _ in columns], room),
        lines=[
            GridLine(written(end * share), f"{bottom - height * share:.1f}", f"{bottom - height * share + 4:.1f}")
            for share in (0.5, 1.0)
        ],
    )


def _even_end(highest: float) -> int:
    """Counts are whole, so that half of an axis of counts is to be whole, too."""
    unit = 1
    while 10 * unit < highest:
        unit *= 10
    return max(2, 2 * unit * ceil(highest / (2 * unit)))


def _written(value: float, *, as_percent: bool) -> str:
    write = texts.percentage if as_percent else texts.plain_number
    return write(value, 0 if abs(value - round(value)) < WHOLE else 1)


def _labels(names: Sequence[str], room: float) -> list[ColumnLabel]:
    """The first, the middle and the last, so that they never meet."""
    if not names:
        return []
    middle = len(names) // 2
    chosen = {0: "start", len(names) - 1: "end"} if len(names) > 1 else {0: "middle"}
    if len(names) > 4:
        chosen[middle] = "middle"
    places = {"start": 0.0, "middle": room / 2, "end": room}
    return [
        ColumnLabel(names[at], place_x(START + at * room + places[anchor]), anchor)
        for at, anchor in sorted(chosen.items())
    ]
