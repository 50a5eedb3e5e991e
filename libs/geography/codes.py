"""Codes of countries, regions and continents: the canonical one of each, what it is part of, and English names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

FILE = Path(__file__).parent / "data" / "codes.json"

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        # India's codes of 2023 and the older ones, which are canonical here as in most data. Dadra and Nagar Haveli and
        # Daman and Diu have been one since 2020.
        "IN-TS": "IN-TG", "IN-UK": "IN-UT", "IN-UL": "IN-UT", "IN-CG": "IN-CT", "IN-OD": "IN-OR",
        "IN-DN": "IN-DH", "IN-DD": "IN-DH",
        # Overseas departments of France.
        "FR-RE": "FR-974", "FR-GP": "FR-971", "FR-MQ": "FR-972", "FR-GF": "FR-973", "FR-YT": "FR-976",
        # What ISO 3166-1 only reserves.
        "AC": "SH", "CP": "FR", "CQ": "GG", "DG": "IO", "EA": "ES", "FX": "FR", "IC": "ES", "TA": "SH", "UK": "GB",
    }
)  # fmt: skip
"""Codes with another one for the same place."""

CONTINENT_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "AF": "Africa",
        "AN": "Antarctica",
        "AS": "Asia",
        "EU": "Europe",
        "NA": "North America",
        "OC": "Oceania",
        "SA": "South America",
    }
)


def canonical(code: str) -> str:
    """The code that borders and tables use for a country or region: "IN-TG" for "in-ts"."""
    code = code.strip().upper()
    return ALIASES.get(code, code)


def parents_of(region: str) -> tuple[str, ...]:
    """Codes of the larger regions that `region` is part of, the nearest first: ("IT-34",) for "IT-VE"."""
    made: list[str] = []
    for parent in _codes()["parents"].get(canonical(region), ()):
        made += [parent, *parents_of(parent)]
    return tuple(made)


def countries() -> tuple[str, ...]:
    """Codes of all countries and territories that have borders here."""
    return tuple(_codes()["countries"])


def is_known(code: str) -> bool:
    """Whether points can lie in the country or region `code` by the borders that are shipped."""
    code = canonical(code)
    return code in _codes()["regions"] or code in _codes()["countries"]


def region_name(code: str) -> str:
    """English name of a region, or the code itself where there is none."""
    return str(_codes()["regions"].get(canonical(code), code))


def country_name(code: str) -> str:
    """English name of a country, or the code itself where there is none."""
    return str(_codes()["countries"].get(canonical(code), code))


def continent_name(code: str) -> str:
    """English name of a continent, or the code itself."""
    return CONTINENT_NAMES.get(code, code)


@cache
def _codes() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return made
