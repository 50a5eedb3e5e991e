"""Bars as SVG: columns side by side, and pieces stacked in one bar."""

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


BAR_TOP, ROW = 22, 56
BESIDE_ROW, BESIDE_START = 30, 36.0
"""Pixels, and percent of the width: for many bars, with their names beside them."""
LABEL_FROM = 9.0
"""Percent of the width that a piece needs to have its own percentage written into it."""


HATCHED = "bad"
"""The kind of piece that is marked by more than its colour."""
PIECE = (
    '<rect class="plot__piece plot__piece--{0}" data-name="{1}" data-value="{2}" x="{3}" y="{7}" width="{4}" '
    'height="22"><title>{1}: {2}</title></rect>'
)


PIECE_LABEL = '<text class="plot__over" x="{0}" y="{2}" text-anchor="middle" aria-hidden="true">{1}</text>'


class BarPiece(NamedTuple):
    """`kind` goes into the name of the class that colours it; `label` is empty where there is no room.

    `name` and `value` are shown when a pointer is over it.
    """

    kind: str
    name: str
    value: str
    x: str
    width: str
    label: str
    label_x: str


@dataclass(frozen=True)
class StackedBar:
    name: str
    note: str
    name_y: int
    y: int
    label_y: int
    pieces: Sequence[BarPiece]

    @property
    def marks(self) -> SafeString:
        """The pieces, without what stands over them."""
        return joined_html(PIECE, ((*piece, self.y) for piece in self.pieces))

    @property
    def hatched(self) -> list[BarPiece]:
        return [piece for piece in self.pieces if piece.kind == HATCHED]

    @property
    def labels(self) -> SafeString:
        return joined_html(
            PIECE_LABEL, ((piece.label_x, piece.label, self.label_y) for piece in self.pieces if piece.label)
        )


@dataclass(frozen=True)
class LegendEntry:
    kind: str
    name: str


@dataclass(frozen=True)
class StackedPlot:
    """Bars of one length under one another, each divided by shares, and beside them what the pieces are.

    Without `has_names_beside` the name of each bar stands above it, with its note.
    """

    title: str
    summary: str
    height: int
    name_x: str
    name_anchor: str
    has_names_beside: bool
    bars: Sequence[StackedBar]
    legend: Sequence[LegendEntry]


@dataclass(frozen=True)
class BarShares:
    """A bar to be drawn: `percent` are as many as the kinds of the plot, and make 100 together."""

    name: str
    note: str
    percent: Sequence[float]


def stacked_plot(
    title: str, kinds: Sequence[tuple[str, str]], rows: Sequence[BarShares], *, has_names_beside: bool = False
) -> StackedPlot:
    """`kinds`: the class and the name of each piece, from the start of a bar to its end."""
    height = BESIDE_ROW if has_names_beside else ROW
    draw = _bar_beside if has_names_beside else _bar_below
    bars = [draw(row, number * height, kinds) for number, row in enumerate(rows)]
    return StackedPlot(
        title=title,
        summary="; ".join(f"{row.name}: {_said(row, kinds)}" for row in rows),
        height=height * len(bars),
        name_x=place_x(BESIDE_START - 1) if has_names_beside else "0",
        name_anchor="end" if has_names_beside else "start",
        has_names_beside=has_names_beside,
        bars=bars,
        legend=[LegendEntry(kind, name) for kind, name in kinds],
    )


def _bar_below(row: BarShares, top: int, kinds: Sequence[tuple[str, str]]) -> StackedBar:
    return StackedBar(row.name, row.note, top + 15, top + BAR_TOP, top + BAR_TOP + 16, _pieces(row, kinds, 0.0))


def _bar_beside(row: BarShares, top: int, kinds: Sequence[tuple[str, str]]) -> StackedBar:
    return StackedBar(row.name, row.note, top + 20, top + 4, top + 20, _pieces(row, kinds, BESIDE_START))


def _pieces(row: BarShares, kinds: Sequence[tuple[str, str]], start: float) -> list[BarPiece]:
    pieces, scale = [], (100 - start) / 100
    for (kind, name), percent in zip(kinds, row.percent, strict=True):
        if percent > 0:
            width = percent * scale
            label = f"{percent:.0f}" if width >= LABEL_FROM else ""
            said = texts.percentage(percent, 1)
            pieces.append(
                BarPiece(
                    kind, f"{row.name}, {name}", said, place_x(start), place_x(width), label, place_x(start + width / 2)
                )
            )
        start += percent * scale
    return pieces


def _said(row: BarShares, kinds: Sequence[tuple[str, str]]) -> str:
    return ", ".join(
        f"{name} {texts.percentage(percent)}" for (_kind, name), percent in zip(kinds, row.percent, strict=True)
    )
