"""The places of a release's images, and their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from geography.codes import continent_name, country_name, is_known, region_name

CONTINENT = "continent:"
"""Before the code of a continent, since AF is a country, too."""


class ReleasedPlace(NamedTuple):
    """An image's place and choice; codes are separated by spaces. Coordinates are there only if they are published."""

    countries: str = ""
    regions: str = ""
    continent: str = ""
    chosen_for: str = ""
    level: str = ""
    latitude: float | None = None
    longitude: float | None = None


UNKNOWN_PLACE = ReleasedPlace()


def codes_of(regions: Iterable[str], countries: Iterable[str], continent: str) -> list[str]:
    """Return the codes of an image's places, the most detailed first."""
    return [*regions, *countries, *([f"{CONTINENT}{continent}"] if continent else [])]


def place_name(code: str) -> str:
    """Return the English name of a continent, country or region; an imported region has its code alone."""
    if code.startswith(CONTINENT):
        return continent_name(code.removeprefix(CONTINENT))
    if not is_known(code):
        return code
    return f"{region_name(code)} ({code})" if "-" in code else country_name(code)
