"""Read polygons of regions from GeoJSON (RFC 7946): all of them, or what is wrong with each."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import shapely
from django.utils.translation import gettext as _
from shapely.geometry import shape
from shapely.validation import explain_validity

from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError, LineError
from crosslens_metrics.formats.records import printable
from geography.codes import canonical

LONGEST_CODE = 40
LONGEST_NAME = 200
TYPES = ("Polygon", "MultiPolygon")


@dataclass(frozen=True)
class RegionPolygons:
    """A region: a canonical code, a name or "", and a shapely Polygon or MultiPolygon in degrees."""

    code: str
    name: str
    shape: Any


def read_regions(content: bytes, *, code_property: str, name_property: str) -> list[RegionPolygons]:
    """Regions of a FeatureCollection.

    Raises
    ------
    FileRefusedError
        Where the file is no FeatureCollection.
    FileProblemsError
        Where features cannot be used: every one by its number, from 1, and its code.
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
    regions, problems, first = [], [], dict[str, int]()
    for number, feature in enumerate(features, start=1):
        properties = feature.get("properties") if isinstance(feature, dict) else None
        properties = properties if isinstance(properties, dict) else {}
        code = properties.get(code_property)
        code = canonical(code) if isinstance(code, str) else ""
        faults = list(_faults_of_code(code, code_property, number, first))
        polygons, more = _polygons(feature.get("geometry") if isinstance(feature, dict) else None)
        label = printable(code[:LONGEST_CODE]) or _("no code")
        place = _("feature %(number)s (%(code)s)") % {"number": number, "code": label}
        problems += [LineError(fault, code, place=place) for fault in [*faults, *more]]
        name = properties.get(name_property)
        regions.append(RegionPolygons(code, name.strip()[:LONGEST_NAME] if isinstance(name, str) else "", polygons))
    if problems:
        raise FileProblemsError(problems)
    return regions


def _faults_of_code(code: str, code_property: str, number: int, first: dict[str, int]) -> Iterator[str]:
    if not code:
        yield _("There is no code in the property “%(name)s”.") % {"name": printable(code_property)}
    elif len(code) > LONGEST_CODE or any(not character.isprintable() or character.isspace() for character in code):
        yield _("A code has at most %(count)s characters and no spaces.") % {"count": LONGEST_CODE}
    elif code in first:
        yield _("Feature %(number)s has the same code. Join the two in one MultiPolygon.") % {"number": first[code]}
    else:
        first[code] = number


def _polygons(geometry: object) -> tuple[Any, list[str]]:
    """The shape, or None and what is wrong with it."""
    if not isinstance(geometry, dict) or geometry.get("type") not in TYPES:
        found = geometry.get("type") if isinstance(geometry, dict) else None
        fault = _("It is no Polygon or MultiPolygon (%(found)s).") % {"found": printable(str(found or _("nothing")))}
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
    made = shapely.force_2d(shape({"type": geometry["type"], "coordinates": coordinates}))
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
    return "" if ring[0] == ring[-1] else _("The ring is not closed. Repeat its first position at its end.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
