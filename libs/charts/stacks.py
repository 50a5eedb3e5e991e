"""Where each piece of a bar goes. Templates draw the rest, the style sheet colours it.

Along the axis places are in percent of the width and text keeps its size, so that one plot is readable on a phone and
on a wide screen; down the page they are in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.safestring import SafeString

from charts import texts
from charts.texts import joined_html, place_x

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


LABEL = '<text class="plot__over" x="{0}" y="{2}" text-anchor="middle" aria-hidden="true">{1}</text>'


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
        return joined_html(LABEL, ((piece.label_x, piece.label, self.label_y) for piece in self.pieces if piece.label))


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
    return ", ".join(f"{name} {percent:.1f}%" for (_kind, name), percent in zip(kinds, row.percent, strict=True))
