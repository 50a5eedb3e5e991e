"""The place of a point: its countries, regions and continent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CONTINENTS = ("AF", "AN", "AS", "EU", "NA", "OC", "SA")
"""Codes of continents: Africa, Antarctica, Asia, Europe, North America, Oceania, South America."""


@dataclass(frozen=True)
class PointPlace:
    """Where a point lies.

    Attributes
    ----------
    countries : tuple of str
        ISO 3166-1 alpha-2 codes in alphabetical order: several where it is disputed, none in the open sea.
    regions : tuple of str
        ISO 3166-2 codes, or codes of imported polygons; the most detailed first.
    continent : str
        One of `CONTINENTS`, or "" in the open sea.
    """

    countries: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    continent: str = ""

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
