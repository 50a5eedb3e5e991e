"""World maps as numbers: which countries are shaded, and where dots go. `_world_map.html` draws them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from geography.outlines import HEIGHT, WIDTH, country_paths, project, region_paths

CELL = 16
"""Units of the map: dots of one kind in one cell are drawn as one, so that the drawing stays small."""

MIN_RADIUS, MAX_RADIUS = 7.0, 28.0

MARKS: Mapping[str, Sequence[tuple[float, float]]] = {
    "country": ((-0.89, -0.89), (0.89, -0.89), (0.89, 0.89), (-0.89, 0.89)),
    "continent": ((0, -1.55), (1.35, 0.78), (-1.35, 0.78)),
    "anywhere": (
        *((-0.38, -1.25), (0.38, -1.25), (0.38, -0.38), (1.25, -0.38), (1.25, 0.38), (0.38, 0.38)),
        *((0.38, 1.25), (-0.38, 1.25), (-0.38, 0.38), (-1.25, 0.38), (-1.25, -0.38), (-0.38, -0.38)),
    ),
}
"""Corners of dots that differ from circles without colour, too: squares, triangles and crosses, of a circle's area."""


@dataclass(frozen=True)
class MapPoint:
    """Something at a place, in degrees; `kind` goes into the name of the class that colours it."""

    latitude: float
    longitude: float
    kind: str


@dataclass(frozen=True)
class MapShade:
    """Countries of one kind, as data of one SVG path."""

    kind: str
    path: str


@dataclass(frozen=True)
class MapDot:
    x: int
    y: int
    radius: float
    kind: str
    count: int

    @property
    def path(self) -> str:
        """The outline as data of an SVG path, of about the same area for all kinds."""
        return dot_outline(self.kind, self.x, self.y, self.radius)


@dataclass(frozen=True)
class LegendEntry:
    """`kind` is that of shades or dots, `is_dot` says of which, and `text` what it means."""

    kind: str
    text: str
    is_dot: bool

    @property
    def path(self) -> str:
        """The outline of its dot in a square of 20 units."""
        return dot_outline(self.kind, 10, 10, 6)


@dataclass(frozen=True)
class WorldMap:
    """A map in units of `width` by `height`. `summary` says in words what it shows."""

    title: str
    summary: str
    shades: Sequence[MapShade]
    dots: Sequence[MapDot]
    legend: Sequence[LegendEntry]
    width: int = WIDTH
    height: int = HEIGHT


def world_map(
    *,
    title: str,
    summary: str,
    shades: Mapping[str, str] | None = None,
    points: Iterable[MapPoint] = (),
    legend: Sequence[LegendEntry] = (),
) -> WorldMap:
    """Draw the world with shaded countries and dots.

    - `shades`: the kind of each shaded country or region, by its code. All other countries are plain land; regions lie
      on their country, and those without an outline (see `region_paths`) are left out.
    - `points`: those of one kind that are close together become one larger dot.
    """
    kinds = shades or {}
    paths: dict[str, list[str]] = {"land": []}
    for code, path in country_paths().items():
        paths.setdefault(kinds.get(code, "land"), []).append(path)
    return WorldMap(
        title,
        summary,
        [MapShade(kind, "".join(parts)) for kind, parts in paths.items() if parts] + _regions(kinds),
        _dots(list(points)),
        legend,
    )


def _regions(kinds: Mapping[str, str]) -> list[MapShade]:
    paths: dict[str, str] = {}
    for code, path in region_paths().items():
        if code in kinds:
            paths[kinds[code]] = paths.get(kinds[code], "") + path
    return [MapShade(kind, path) for kind, path in paths.items()]


def _dots(points: Sequence[MapPoint]) -> list[MapDot]:
    if not points:
        return []
    x, y = project(
        np.array([point.longitude for point in points]),
        np.array([point.latitude for point in points]),
    )
    cells = zip((x // CELL).astype(int), (y // CELL).astype(int), (point.kind for point in points), strict=True)
    counts = Counter((int(column), int(row), kind) for column, row, kind in cells)
    # The largest first, so that small ones are not hidden beneath them.
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [
        MapDot(column * CELL + CELL // 2, row * CELL + CELL // 2, _radius(count), kind, count)
        for (column, row, kind), count in ordered
    ]


def _radius(count: int) -> float:
    """Areas grow with counts, up to a size that leaves the neighbours visible."""
    return round(min(MAX_RADIUS, MIN_RADIUS * math.sqrt(count)), 1)


def dot_outline(kind: str, x: float, y: float, radius: float) -> str:
    """Return the outline of a dot around a point, as data of an SVG path: a circle, or the shape that `MARKS` has."""
    corners = MARKS.get(kind)
    if corners is None:
        arc = f"a{radius:g} {radius:g} 0 1 0 "
        return f"M{x - radius:g} {y:g}{arc}{2 * radius:g} 0{arc}{-2 * radius:g} 0z"
    return "M" + "L".join(f"{x + radius * right:.1f} {y + radius * down:.1f}" for right, down in corners) + "z"
