"""Where the images of a release were taken, and what they were chosen for, as it was when the release was made.

It is kept with the release, so that the release can be built again after borders, places or selections changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from annotation.models import Caption, Release, Round
from annotation.rules.release_places import UNKNOWN_PLACE, ReleasedPlace
from core.images.models import Image
from research.selection.models import ImagePlace, PlaceLevelChoice
from research.selection.selectors.chosen import origins_of

NO_FAULT = ""
POINT = ("image", "latitude", "longitude")


def snapshot_of(release: Release, rounds: Iterable[Round]) -> dict[str, Any]:
    """Return places as JSON values: versions of the borders and tables, and a `ReleasedPlace` by the image's hash.

    The place of an image that was chosen is the one that it was chosen by.
    """
    counted = Caption.objects.counted().filter(round__in=list(rounds), submitted_at__lte=release.until)
    images = counted.order_by().values("image")
    digests = dict(Image.objects.filter(pk__in=images).order_by().values_list("pk", "sha256"))
    points: dict[int, tuple[float, float]] = {}
    if release.has_coordinates:
        located = ImagePlace.objects.filter(image__in=images, problem=NO_FAULT).order_by()
        points = {image: (north, east) for image, north, east in located.values_list(*POINT).iterator()}
    origins = origins_of(release.project, digests)
    found: dict[str, ReleasedPlace] = {}
    for image, origin in origins.items():
        latitude, longitude = points.get(image, (None, None))
        found[digests[image]] = ReleasedPlace(
            origin.countries,
            origin.regions,
            origin.continent,
            chosen_for=origin.chosen_for,
            level=origin.level,
            latitude=latitude,
            longitude=longitude,
        )
    return {
        "borders": sorted({origin.borders for origin in origins.values()} - {""}),
        "tables": sorted({origin.table for origin in origins.values()} - {""}),
        "images": {digest: list(place) for digest, place in sorted(found.items())},
    }


class ReleasePlaces:
    """The places of a release, and how many of its images come from which level."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.borders: list[str] = stored.get("borders", [])
        self.tables: list[str] = stored.get("tables", [])
        self._images: Mapping[str, list[Any]] = stored.get("images", {})
        self.located = 0
        self._levels: Counter[tuple[str, str]] = Counter()

    def of(self, digest: str) -> ReleasedPlace:
        """Return the place of an image, and count it."""
        place = ReleasedPlace(*self._images[digest]) if digest in self._images else UNKNOWN_PLACE
        self.located += bool(place.countries or place.continent)
        if place.level:
            self._levels[place.chosen_for, place.level] += 1
        return place

    @property
    def levels(self) -> dict[str, dict[str, int]]:
        """How many images chosen for each language came from each level."""
        tags = sorted({tag for tag, _level in self._levels})
        return {tag: {level: self._levels[tag, level] for level in PlaceLevelChoice.values} for tag in tags}
