"""Where each piece of a bar goes. Templates draw it, the style sheet colours it.

Along the axis places are in percent of the width and text keeps its size, so that one plot is readable on a phone and
on a wide screen; down the page they are in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BAR_TOP, ROW = 22, 56
LEGEND_ROW = 22
LABEL_FROM = 9.0
"""Percent of the width that a piece needs to have its own percentage written into it."""


@dataclass(frozen=True)
class Piece:
    """`kind` goes into the name of the class that colours it; `label` is empty where there is no room."""

    kind: str
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
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class LegendEntry:
    kind: str
    name: str
    y: int
    text_y: int


@dataclass(frozen=True)
class StackedPlot:
    """Bars of one length under one another, each divided by shares, and below them what the pieces are."""

    title: str
    summary: str
    height: int
    bars: Sequence[StackedBar]
    legend: Sequence[LegendEntry]


@dataclass(frozen=True)
class Shares:
    """A bar to be drawn: `percent` are as many as the kinds of the plot, and make 100 together."""

    name: str
    note: str
    percent: Sequence[float]


def stacked_plot(title: str, kinds: Sequence[tuple[str, str]], rows: Sequence[Shares]) -> StackedPlot:
    """`kinds`: the class and the name of each piece, from the start of a bar to its end."""
    bars = [_bar(row, number * ROW, kinds) for number, row in enumerate(rows)]
    top = ROW * len(bars)
    legend = [
        LegendEntry(kind, name, top + number * LEGEND_ROW + 4, top + number * LEGEND_ROW + 15)
        for number, (kind, name) in enumerate(kinds)
    ]
    summary = "; ".join(f"{row.name}: {_said(row, kinds)}" for row in rows)
    return StackedPlot(title, summary, top + LEGEND_ROW * len(legend), bars, legend)


def _bar(row: Shares, top: int, kinds: Sequence[tuple[str, str]]) -> StackedBar:
    pieces, start = [], 0.0
    for (kind, _name), percent in zip(kinds, row.percent, strict=True):
        if percent > 0:
            label = f"{percent:.0f}" if percent >= LABEL_FROM else ""
            pieces.append(Piece(kind, _x(start), _x(percent), label, _x(start + percent / 2)))
        start += percent
    return StackedBar(row.name, row.note, top + 15, top + BAR_TOP, top + BAR_TOP + 16, pieces)


def _said(row: Shares, kinds: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {percent:.1f}%" for (_kind, name), percent in zip(kinds, row.percent, strict=True))


def _x(percent: float) -> str:
    """Always with a point: the language of the page has no say in an attribute."""
    return f"{percent:.2f}%"
