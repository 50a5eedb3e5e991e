"""Names of the places of a release's images."""

from __future__ import annotations

from geography.codes import continent_name, country_name, is_known, region_name

CONTINENT = "continent:"
"""Before the code of a continent, since AF is a country, too."""


def place_name(code: str) -> str:
    """Return the English name of a continent, country or region; an imported region has its code alone."""
    if code.startswith(CONTINENT):
        return continent_name(code.removeprefix(CONTINENT))
    if not is_known(code):
        return code
    return f"{region_name(code)} ({code})" if "-" in code else country_name(code)
