"""Read regions from GeoJSON (RFC 7946), and points with keys from CSV: all of them, or what is wrong with each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, Any

from django.utils.translation import gettext as _
from shapely.geometry import shape
from shapely.validation import explain_validity

from core.images.rules.attributions import reason_of
from crosslens_metrics.formats.csv_records import csv_records
from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError, LineError
from crosslens_metrics.formats.records import printable
from geography.codes import canonical, countries
from geography.places import CoordinateFault, fault_of
from research.selection.rules.image_filters import CODE

MAX_CODE_CHARACTERS = 40
MAX_NAME_CHARACTERS = 200
TYPES = ("Polygon", "MultiPolygon")
IN_DEGREES = re.compile(r"(CRS84|CRS83|EPSG:+(4326|4258|4269))$", re.IGNORECASE)
"""Names of coordinate reference systems that differ from WGS 84 by at most some metres."""

MAX_NUMBER = 1e9
"""More than any altitude in metres."""


@dataclass(frozen=True)
class RegionPolygons:
    """A region: a canonical code, a name or "", and a shapely Polygon or MultiPolygon in degrees."""

    code: str
    name: str
    shape: Any


def read_regions(content: bytes, *, code_property: str, name_property: str) -> list[RegionPolygons]:
    """Regions of a FeatureCollection.

    Raises FileRefusedError where the file is no FeatureCollection. Raises FileProblemsError where features cannot be
    used: every one by its number, from 1, and its code.
    """
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileRefusedError(_("This is not GeoJSON: %(reason)s.") % {"reason": error}) from error
    features = data.get("features") if isinstance(data, dict) else None
    if not isinstance(features, list) or data.get("type") != "FeatureCollection":
        raise FileRefusedError(_("This is not GeoJSON of features. Give a “FeatureCollection” with a list “features”."))
    if not features:
        raise FileRefusedError(_("The file has no features."))
    if system := _other_system(data.get("crs")):
        reason = _("Its coordinates are in %(system)s. Save it in degrees, WGS 84 (EPSG:4326).")
        raise FileRefusedError(reason % {"system": system})
    regions, problems, first = [], [], dict[str, int]()
    for number, feature in enumerate(features, start=1):
        properties = feature.get("properties") if isinstance(feature, dict) else None
        properties = properties if isinstance(properties, dict) else {}
        code = properties.get(code_property)
        code = canonical(code) if isinstance(code, str) else ""
        faults = list(_faults_of_code(code, code_property, number, first))
        polygons, more = _polygons(feature.get("geometry") if isinstance(feature, dict) else None)
        label = printable(code[:MAX_CODE_CHARACTERS]) or _("no code")
        place = _("feature %(number)s (%(code)s)") % {"number": number, "code": label}
        problems += [LineError(fault, code, place=place) for fault in [*faults, *more]]
        name = properties.get(name_property)
        regions.append(
            RegionPolygons(code, name.strip()[:MAX_NAME_CHARACTERS] if isinstance(name, str) else "", polygons)
        )
    if problems:
        raise FileProblemsError(problems)
    return regions


def _other_system(crs: object) -> str:
    """The name of the coordinate reference system that an older file gives, "" where that is WGS 84 or none."""
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    return (
        printable(name[:MAX_NAME_CHARACTERS]) if isinstance(name, str) and not IN_DEGREES.search(name.strip()) else ""
    )


def _faults_of_code(code: str, code_property: str, number: int, first: dict[str, int]) -> Iterator[str]:
    if not code:
        yield _("There is no code in the property “%(name)s”.") % {"name": printable(code_property)}
    elif not CODE.fullmatch(code):
        reason = _("A code has at most %(count)s letters from A to Z, digits, hyphens, dots, tildes and underscores.")
        yield reason % {"count": MAX_CODE_CHARACTERS}
    elif code in countries():
        reason = _("This is the code of a country. Give the region a code of its own, such as %(code)s-1.")
        yield reason % {"code": code}
    elif code in first:
        yield _("Feature %(number)s has the same code. Join the two in one MultiPolygon.") % {"number": first[code]}
    else:
        first[code] = number


def _polygons(geometry: object) -> tuple[Any, list[str]]:
    """The shape, or None and what is wrong with it."""
    if not isinstance(geometry, dict) or geometry.get("type") not in TYPES:
        found = geometry.get("type") if isinstance(geometry, dict) else None
        fault = _("It is not a Polygon or MultiPolygon (%(found)s).") % {"found": printable(str(found or _("nothing")))}
        return None, [fault]
    coordinates = geometry.get("coordinates")
    polygons = coordinates if geometry["type"] == "MultiPolygon" else [coordinates]
    if not isinstance(polygons, list) or not polygons or not all(isinstance(each, list) and each for each in polygons):
        return None, [_("It is empty.")]
    faults = []
    for polygon_number, polygon in enumerate(polygons, start=1):
        for ring_number, ring in enumerate(polygon, start=1):
            if fault := _fault_of_ring(ring):
                where = {"polygon": polygon_number, "ring": ring_number, "fault": fault}
                faults.append(_("Polygon %(polygon)s, ring %(ring)s: %(fault)s") % where)
    if faults:
        return None, faults
    # Without altitudes, which some positions may have and others not.
    flat = [[[position[:2] for position in ring] for ring in polygon] for polygon in polygons]
    made = shape({"type": "MultiPolygon", "coordinates": flat})
    made = made if geometry["type"] == "MultiPolygon" else made.geoms[0]
    if made.is_valid:
        return made, []
    reason = explain_validity(made)
    return None, [_("The outline crosses or touches itself (%(reason)s). Repair it.") % {"reason": reason}]


def _fault_of_ring(ring: object) -> str:
    if not isinstance(ring, list) or len(ring) < 4:
        return _("A ring needs at least four positions, the last one the same as the first.")
    for position in ring:
        if not isinstance(position, list) or not 2 <= len(position) <= 4 or not all(map(_is_number, position)):
            return _("A position is not two numbers, longitude and latitude.")
        east, north = position[:2]
        if abs(east) > 180 or abs(north) > 90:
            return _(
                "%(longitude)s, %(latitude)s is out of range. Positions are longitude and latitude in degrees (WGS 84)."
            ) % {"longitude": east, "latitude": north}
    if ring[0][:2] != ring[-1][:2]:
        return _("The ring is not closed. Repeat its first position at its end.")
    for (east, *_north), (next_east, *_next_north) in pairwise(ring):
        if abs(next_east - east) > 180 and {abs(east), abs(next_east)} != {180}:
            return _("It crosses the 180th meridian between %(east)s and %(next)s. Cut it there in two polygons.") % {
                "east": east,
                "next": next_east,
            }
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER


COLUMNS = ("latitude", "longitude")


@dataclass(frozen=True)
class PointLine:
    """A line of the file. Latitude and longitude are degrees, NaN where `fault` says that they cannot be right."""

    number: int
    key: str
    latitude: float
    longitude: float
    fault: CoordinateFault | None = None


def read_points(file: IO[bytes]) -> Iterator[PointLine | LineError]:
    """Points of a CSV file with columns key, latitude and longitude in any case; other columns are ignored.

    A line whose coordinates cannot be right is a point with a fault, and then a LineError that says so.

    Raises FileRefusedError where a column is missing, or the file is no CSV file.
    """
    for record in csv_records(file, column="key", more=COLUMNS):
        if isinstance(record, LineError):
            yield record
            continue
        values = record.value
        key = values["key"].strip()
        if not key:
            yield LineError(_("This line has no key."), number=record.number)
            continue
        latitude, longitude = (values.get(column, "") for column in COLUMNS)
        fault = fault_of(latitude, longitude)
        if fault is None:
            yield PointLine(record.number, key, float(latitude), float(longitude))
        else:
            yield PointLine(record.number, key, float("nan"), float("nan"), fault)
            yield LineError(reason_of(fault), key, number=record.number)
