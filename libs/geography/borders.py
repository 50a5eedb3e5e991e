"""From points to places: exact points in polygons, many at a time.

A point's country is that of country-coder's polygon around it, whose outlines in the sea are drawn generously; a point
more than `SEA_M` from all land is in the open sea. Its regions are those of Natural Earth's polygons around it that
belong to its country. Where the coast or the border of the regions is drawn more coarsely than the country's (bridges,
beaches, small islands), it is the nearest region of the country within `NEAR_M`.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike

from geography import codes, outline_files
from geography.nearest import DEGREE_M, NearestLand
from geography.places import PointPlace, are_right

NEAR_M = 10_000.0
SMALL_ISLAND_M = 4_000.0
"""How far around an inhabited place that Natural Earth's land lacks there is land."""

SEA_M = 2_000.0
"""Bridges and piers are nearer to land than this, but for the longest."""

CHUNK = 50_000
"""Points looked up at a time, which bounds the memory."""

_one_thread = threading.Lock()

NO_COUNTRY = -1
CELL_DEGREES = 0.2


@dataclass(frozen=True)
class BorderRegion:
    """A region beside those that are shipped, in degrees (WGS 84), longitude first."""

    code: str
    """If it starts with the code of a country and a hyphen, only points of that country are in it."""
    shape: Any
    """Shapely Polygon or MultiPolygon."""

    @property
    def country(self) -> str:
        prefix, hyphen, _ = self.code.partition("-")
        return prefix if hyphen and prefix in codes.countries() else ""


@dataclass(frozen=True)
class _BorderRow:
    code: str
    within: frozenset[str]
    area: float
    is_anywhere: bool = False
    """Whether points of any country can be in it."""

    def serves(self, countries: Iterable[str]) -> bool:
        return self.is_anywhere or not self.within.isdisjoint(countries)


class Borders:
    """Countries, regions and disputed areas of one version. Use `shipped_borders`, and `adding` for more regions."""

    def __init__(self, version: str, countries: Any, regions: Any, disputed: Any) -> None:
        """Take each of the three as shapes and properties, as `outline_files.read` gives them."""
        self.version = version
        self._countries = countries
        self._regions = regions
        self._disputed = disputed

    def locate(self, latitudes: ArrayLike, longitudes: ArrayLike) -> list[PointPlace]:
        """Places of points.

        - `latitudes` and `longitudes`: shape (n,): degrees north and east.
        - returned: empty places for the open sea and for positions that cannot be right (see `fault_of`).

        Raises ValueError if the two differ in length.
        """
        north = np.asarray(latitudes, dtype=float).ravel()
        east = np.asarray(longitudes, dtype=float).ravel()
        if len(north) != len(east):
            raise ValueError(f"There are {len(north)} latitudes and {len(east)} longitudes.")
        places: list[PointPlace] = []
        for start in range(0, len(north), CHUNK):
            places += self._located(north[start : start + CHUNK], east[start : start + CHUNK])
        return places

    def adding(self, regions: Iterable[BorderRegion]) -> Borders:
        """These borders with more regions. One with the code of a shipped region replaces it."""
        added = sorted(regions, key=lambda region: region.code)
        if not added:
            return self
        content = hashlib.sha256()
        for region in added:
            content.update(region.code.encode() + b"\0" + shapely.to_wkb(shapely.normalize(region.shape), byte_order=1))
        replaced = {region.code for region in added}
        shapes, properties = self._regions
        kept = [{**row, "code": ""} if row["code"] in replaced else row for row in properties]
        more = [
            {
                "code": region.code,
                "within": self._territories_of(region.country),
                "area": float(region.shape.area),
                "is_anywhere": not region.country,
            }
            for region in added
        ]
        joined = np.concatenate([shapes, np.array([_as_multipolygon(region.shape) for region in added], dtype=object)])
        version = f"{self.version}+{content.hexdigest()[:12]}"
        return Borders(version, self._countries, (joined, [*kept, *more]), self._disputed)

    def _territories_of(self, country: str) -> list[str]:
        """The country with its territories that have codes of their own and regions of its: FR with RE."""
        if not country:
            return []
        found = {country}
        for row in self._regions[1]:
            if row["code"].startswith(f"{country}-"):
                found.update(row["within"])
        return sorted(found)

    @cached_property
    def _rows(self) -> list[_BorderRow]:
        return [
            _BorderRow(row["code"], frozenset(row["within"]), row["area"], row.get("is_anywhere", False))
            for row in self._regions[1]
        ]

    @cached_property
    def _trees(self) -> tuple[Any, ...]:
        return tuple(shapely.STRtree(shapes) for shapes, _ in (self._countries, self._regions, self._disputed))

    @cached_property
    def _land(self) -> NearestLand:
        return NearestLand(self._regions[0])

    @cached_property
    def _countries_with_land(self) -> frozenset[str]:
        """Codes of countries whose land is among the regions; the atolls of others are too small for them."""
        return frozenset(code for row in self._rows for code in row.within)

    def _located(self, north: Any, east: Any) -> list[PointPlace]:
        right = are_right(north, east)
        country_rows = np.full(len(north), NO_COUNTRY)
        # A point on a border is given to the first country by its code. West of Fiji and Chukotka, 180 is also -180.
        for longitudes, are_asked in ((east, right), (-east, right & (np.abs(east) == 180))):
            open_points = np.flatnonzero(are_asked & (country_rows == NO_COUNTRY))
            points, rows = _inside(self._trees[0], north, longitudes, open_points)
            for point, row in zip(points[::-1].tolist(), rows[::-1].tolist(), strict=True):
                country_rows[point] = row
        found = np.flatnonzero(country_rows != NO_COUNTRY)
        countries = self._with_disputes(north, east, country_rows, found)
        regions: dict[int, list[int]] = {point: [] for point in found.tolist()}
        on_land = set()
        for point, row in zip(*(each.tolist() for each in _inside(self._trees[1], north, east, found)), strict=True):
            on_land.add(point)
            if self._rows[row].serves(countries[point]):
                regions[point].append(row)
        without = [point for point, rows in regions.items() if not rows]
        self._add_nearest(north, east, without, on_land, countries, regions)
        # Thousands of points have a place in common.
        one_of_each: dict[tuple[int, tuple[str, ...], tuple[int, ...]], PointPlace] = {}
        places = []
        for point, row in enumerate(country_rows.tolist()):
            about = row, countries.get(point, ()), tuple(regions.get(point, ()))
            place = one_of_each.get(about)
            if place is None:
                place = one_of_each[about] = self._place(*about)
            places.append(place)
        return places

    def _with_disputes(self, north: Any, east: Any, country_rows: Any, found: Any) -> dict[int, tuple[str, ...]]:
        about = self._countries[1]
        codes_of = {point: about[country_rows[point]]["code"] for point in found.tolist()}
        countries: dict[int, tuple[str, ...]] = {point: (code,) if code else () for point, code in codes_of.items()}
        for point, row in zip(*(each.tolist() for each in _inside(self._trees[2], north, east, found)), strict=True):
            area = self._disputed[1][row]
            if codes_of[point] in area["held"] or not (codes_of[point] or area["held"]):
                countries[point] = tuple(sorted({*countries[point], *area["countries"]}))
        return countries

    def _add_nearest(
        self,
        north: Any,
        east: Any,
        points: Sequence[int],
        on_land: set[int],
        countries: dict[int, tuple[str, ...]],
        regions: dict[int, list[int]],
    ) -> None:
        """Give points near a region of their country that region, and take the country from those in the open sea."""
        near = self._land.near(north[list(points)], east[list(points)], within_m=NEAR_M)
        for point, distances in zip(points, near, strict=True):
            is_at_sea = point not in on_land and min(distances.values(), default=SEA_M) >= SEA_M
            is_at_sea = is_at_sea and not is_on_small_island(north[point], east[point])
            if is_at_sea and self._countries_with_land.issuperset(countries[point]):
                countries[point] = ()
                continue
            ours = [
                (distance, row)
                for row, distance in distances.items()
                if not self._rows[row].is_anywhere and self._rows[row].serves(countries[point])
            ]
            if ours:
                regions[point].append(min(ours)[1])

    def _place(self, country_row: int, countries: tuple[str, ...], rows: Sequence[int]) -> PointPlace:
        if country_row == NO_COUNTRY or not countries:
            return PointPlace()
        finest_first = sorted((self._rows[row].area, self._rows[row].code) for row in rows if self._rows[row].code)
        found = [code for _, code in finest_first]
        parents = [parent for code in found for parent in codes.parents_of(code)]
        return PointPlace(
            countries, tuple(dict.fromkeys([*found, *parents])), self._countries[1][country_row]["continent"]
        )


def is_on_small_island(latitude: float, longitude: float) -> bool:
    """Return whether a point, in degrees, is near an inhabited place that Natural Earth's land lacks."""
    cell = (math.floor(latitude / CELL_DEGREES), math.floor(longitude / CELL_DEGREES))
    return any(distance_m(latitude, longitude, *island) < SMALL_ISLAND_M for island in _small_islands().get(cell, ()))


@cache
def _small_islands() -> dict[tuple[int, int], list[tuple[float, float]]]:
    """Return the places by the cells that they are in or beside."""
    text = (outline_files.FOLDER / outline_files.SMALL_ISLANDS).read_text(encoding="utf-8")
    near: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for latitude, longitude in json.loads(text):
        row, column = math.floor(latitude / CELL_DEGREES), math.floor(longitude / CELL_DEGREES)
        for step in (-1, 0, 1):
            for side in (-1, 0, 1):
                near[row + step, column + side].append((latitude, longitude))
    return near


def distance_m(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Compute the distance of two points close together, in metres; all arguments are in degrees."""
    east = (longitude - other_longitude) * math.cos(math.radians((latitude + other_latitude) / 2))
    return DEGREE_M * math.hypot(latitude - other_latitude, east)


def _as_multipolygon(shape: Any) -> Any:
    return shape if shape.geom_type == "MultiPolygon" else shapely.MultiPolygon([shape])


def _inside(tree: Any, north: Any, east: Any, points: Any) -> tuple[Any, Any]:
    """Pairs of a point (of `points`, numbers in `north`) and a shape of the tree around it, by point and shape.

    Shapes are prepared one at a time and let go, so that memory stays bounded.
    """
    pairs, shapes = tree.query(shapely.points(east[points], north[points]))
    order = np.argsort(shapes, kind="stable")
    pairs, shapes = pairs[order], shapes[order]
    kept = np.zeros(len(pairs), dtype=bool)
    starts = np.flatnonzero(np.diff(shapes, prepend=-1))
    for start, end in zip(starts, np.append(starts, len(shapes))[1:], strict=True):
        shape = tree.geometries[shapes[start]]
        # Preparing takes time and memory by the corner, so that large shapes must have many points.
        is_worth_it = end - start > 4 + shapely.get_num_coordinates(shape) // 20
        numbers = points[pairs[start:end]]
        # The process ends with a segmentation fault if one thread lets go what another one looks into.
        with _one_thread:
            if is_worth_it:
                shapely.prepare(shape)
            kept[start:end] = shapely.intersects_xy(shape, east[numbers], north[numbers])
            if is_worth_it:
                shapely.destroy_prepared(shape)
    numbers, shapes = points[pairs[kept]], shapes[kept]
    order = np.lexsort((shapes, numbers))
    return numbers[order], shapes[order]


@cache
def shipped_borders() -> Borders:
    """The borders in `libs/geography/data`."""
    files = (outline_files.COUNTRIES, outline_files.REGIONS, outline_files.DISPUTED)
    countries, regions, disputed = (outline_files.read(outline_files.FOLDER / name) for name in files)
    return Borders(outline_files.shipped_version(), countries, regions, disputed)
