"""How near to its language an image was taken."""

from __future__ import annotations

from enum import StrEnum


class PlaceLevel(StrEnum):
    """From the best to the worst; see PLACE_LEVELS for those that depend on a place."""

    REGION = "region"
    COUNTRY = "country"
    CONTINENT = "continent"
    ANYWHERE = "anywhere"


PLACE_LEVELS = (PlaceLevel.REGION, PlaceLevel.COUNTRY, PlaceLevel.CONTINENT)
