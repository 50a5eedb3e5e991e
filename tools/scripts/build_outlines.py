"""Make `outlines.json` and `region_outlines.json` in `libs/geography/data` anew.

    python -m tools.scripts.build_outlines LAND.json

LAND.json is land-50m.json of world-atlas 2 (Natural Earth 1:50m, public domain) as TopoJSON. The borders in
`libs/geography/data` reach out into the sea; cut at the coast, simplified and projected, they are a map. Run it after
`tools.scripts.build_borders`.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from config import ROOT
from geography import codes, outline_files, outlines

LANGUAGE_AREAS = ROOT / "research/selection/data/language_areas.json"

TOLERANCE = 0.9
"""Units of the map: neighbours are simplified together, so that no gaps appear."""

MIN_ISLAND_AREA = 6.0
"""Square units: islands below that are left out, but the largest of each country."""

CHUNK_DEGREES = 1.0
"""Straight lines of degrees are bent by the projection: none is longer than that."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("land", type=Path, metavar="LAND.json")
    land = _land(json.loads(parser.parse_args().land.read_text(encoding="utf-8")))
    shapes, about = outline_files.read(outline_files.FOLDER / outline_files.COUNTRIES)
    by_code: dict[str, list[Any]] = {}
    for shape, properties in zip(shapes, about, strict=True):
        if properties["code"]:
            by_code.setdefault(properties["code"], []).append(shape)
    countries = sorted(by_code)
    on_land = [_polygons(shapely.intersection(shapely.union_all(by_code[code]), land)) for code in countries]
    projected = [shapely.transform(shapely.segmentize(each, CHUNK_DEGREES), _project) for each in on_land]
    simple = shapely.coverage_simplify(np.array([_polygons(shapely.make_valid(each)) for each in projected]), TOLERANCE)
    paths = {code: _path(outline) for code, outline in zip(countries, simple, strict=True)}
    _write(outlines.FILE, paths)
    _write(outlines.REGIONS_FILE, _regions(land))


def _regions(land: Any) -> dict[str, str]:
    """Return those regions that the table of languages names; maps show no others."""
    tables = json.loads(LANGUAGE_AREAS.read_text(encoding="utf-8")).values()
    wanted = sorted({code for areas in tables for code in areas["region"] if "-" in code})
    shapes, about = outline_files.read(outline_files.FOLDER / outline_files.REGIONS)
    codes_of = np.array([properties["code"] for properties in about])
    parents_of = np.array([" ".join(codes.parents_of(code)) for code in codes_of])
    found: dict[str, str] = {}
    for code in wanted:
        own = (codes_of == code) | np.array([code in parents.split() for parents in parents_of])
        on_land = _polygons(shapely.intersection(shapely.union_all(shapely.make_valid(shapes[own])), land))
        projected = shapely.transform(shapely.segmentize(on_land, CHUNK_DEGREES), _project)
        found[code] = _path(shapely.simplify(_polygons(shapely.make_valid(projected)), TOLERANCE))
    return found


def _write(name: str, paths: dict[str, str]) -> None:
    text = json.dumps({code: path for code, path in paths.items() if path}, indent=0)
    (outline_files.FOLDER / name).write_text(text + "\n", encoding="utf-8")


def _turned(degrees: Any, by: float) -> Any:
    return degrees - [by, 0]


def _project(degrees: Any) -> Any:
    return np.column_stack(outlines.project(degrees[:, 0], degrees[:, 1]))


def _path(outline: Any) -> str:
    parts = sorted(shapely.get_parts(_polygons(outline)), key=shapely.area, reverse=True)
    kept = [part for index, part in enumerate(parts) if index == 0 or part.area >= MIN_ISLAND_AREA]
    rings = [ring for part in kept for ring in (part.exterior, *part.interiors)]
    return "".join(_ring(np.rint(shapely.get_coordinates(ring)).astype(int)) for ring in rings)


def _ring(points: Any) -> str:
    steps = [step for step in np.diff(points, axis=0)[:-1] if step.any()]
    lines = "".join(f"{x}{y:+d}" if not index else f"{x:+d}{y:+d}" for index, (x, y) in enumerate(steps))
    return f"M{points[0][0]} {points[0][1]}l{lines}z" if len(steps) > 1 else ""


def _polygons(geometry: Any) -> Any:
    parts = [part for part in shapely.get_parts(geometry) if part.geom_type in ("Polygon", "MultiPolygon")]
    return shapely.union_all(parts) if parts else shapely.MultiPolygon()


def _unwrapped(ring: list[Any]) -> Any:
    """Rings that cross the antimeridian jump by 360 degrees there; one around a pole is closed along its edge."""
    points = np.array(ring)
    points[:, 0] = np.unwrap(points[:, 0], period=360)
    if abs(points[-1, 0] - points[0, 0]) > 1:
        pole = -90 if points[0, 1] < 0 else 90
        points = np.vstack([points, [points[-1, 0], pole], [points[0, 0], pole]])
    return points


def _land(topology: dict[str, Any]) -> Any:
    scale, shift = topology["transform"]["scale"], topology["transform"]["translate"]
    arcs = [np.cumsum(np.array(arc), axis=0) * scale + shift for arc in topology["arcs"]]

    def ring(indices: list[int]) -> list[Any]:
        points: list[Any] = []
        for index in indices:
            arc = arcs[index] if index >= 0 else arcs[~index][::-1]
            points += [tuple(point) for point in (arc if not points else arc[1:])]
        return points

    polygons = []
    for geometry in topology["objects"]["land"]["geometries"]:
        for each in geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]:
            exterior, *holes = (_unwrapped(ring(indices)) for indices in each)
            whole = shapely.make_valid(shapely.Polygon(exterior, holes))
            for turn in (-360, 0, 360):
                part = shapely.intersection(whole, shapely.box(turn - 180, -90, turn + 180, 90))
                polygons.append(shapely.transform(part, partial(_turned, by=turn)))
    return shapely.union_all(polygons)


if __name__ == "__main__":
    main()
