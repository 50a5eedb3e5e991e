"""The place of a point, and whether a latitude and a longitude can be right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

CONTINENTS = ("AF", "AN", "AS", "EU", "NA", "OC", "SA")
"""Codes of continents: Africa, Antarctica, Asia, Europe, North America, Oceania, South America."""


@dataclass(frozen=True)
class PointPlace:
    """Where a point lies."""

    countries: tuple[str, ...] = ()
    """ISO 3166-1 alpha-2 codes in alphabetical order: several where it is disputed, none in the open sea."""
    regions: tuple[str, ...] = ()
    """ISO 3166-2 codes, or codes of imported polygons; the most detailed first."""
    continent: str = ""
    """One of `CONTINENTS`, or "" in the open sea."""

    @property
    def region(self) -> str:
        """The most detailed region, or ""."""
        return self.regions[0] if self.regions else ""


class CoordinateFault(StrEnum):
    """Why a position cannot be right."""

    MISSING = "missing"
    NOT_A_NUMBER = "not_a_number"
    OUT_OF_RANGE = "out_of_range"
    SWAPPED = "swapped"
    NULL_ISLAND = "null_island"


def fault_of(latitude: object, longitude: object) -> CoordinateFault | None:
    """What is wrong with a position in degrees, or None.

    - `latitude` and `longitude`: as read from a file or a database; None and "" are missing.
    - returned: SWAPPED where the two would be a position the other way round; NULL_ISLAND for 0, 0, which stands for
      "unknown" far more often than for a point in the Gulf of Guinea.
    """
    if _is_missing(latitude) or _is_missing(longitude):
        return CoordinateFault.MISSING
    north, east = _number(latitude), _number(longitude)
    if north is None or east is None:
        return CoordinateFault.NOT_A_NUMBER
    if abs(north) > 90 or abs(east) > 180:
        is_swapped = abs(north) > 90 and abs(north) <= 180 and abs(east) <= 90
        return CoordinateFault.SWAPPED if is_swapped else CoordinateFault.OUT_OF_RANGE
    return CoordinateFault.NULL_ISLAND if north == 0 and east == 0 else None


def are_right(latitudes: Any, longitudes: Any) -> Any:
    """Whether positions, arrays of degrees of shape (n,), have no fault, as an array of bool."""
    on_earth = (abs(latitudes) <= 90) & (abs(longitudes) <= 180)  # no number is neither
    return on_earth & ((latitudes != 0) | (longitudes != 0))


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _number(value: object) -> float | None:
    if isinstance(value, str) and "_" in value:  # Python reads 1_0 as 10
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
