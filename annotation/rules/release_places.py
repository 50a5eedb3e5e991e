"""The place of an image in a release."""

from __future__ import annotations

from typing import NamedTuple


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
