"""What a release names: the places of its images, and the licence of its captions."""

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


class ReleaseLicence(NamedTuple):
    name: str
    url: str
    notice: str
    """The gist of the licence in a paragraph. The text at `url` is the binding one."""


LICENCES = {
    "CC-BY-4.0": ReleaseLicence(
        "Creative Commons Attribution 4.0 International",
        "https://creativecommons.org/licenses/by/4.0/legalcode",
        "You may share and adapt the material for any purpose, even commercially, as long as you give appropriate "
        "credit, provide a link to the licence and say whether you changed anything.",
    ),
    "CC-BY-SA-4.0": ReleaseLicence(
        "Creative Commons Attribution-ShareAlike 4.0 International",
        "https://creativecommons.org/licenses/by-sa/4.0/legalcode",
        "You may share and adapt the material for any purpose, even commercially, as long as you give appropriate "
        "credit, provide a link to the licence, say whether you changed anything, and pass on what you make of the "
        "material under the same licence.",
    ),
    "CC0-1.0": ReleaseLicence(
        "Creative Commons Zero 1.0 Universal",
        "https://creativecommons.org/publicdomain/zero/1.0/legalcode",
        "Those who made the material have waived all their copyright and related rights in it worldwide, as far as the "
        "law allows. You may use it for any purpose without asking.",
    ),
}
