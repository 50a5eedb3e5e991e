"""Read where the images of a collection were taken: names of places, never coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from core.images.models import Collection, CollectionImage
from core.images.rules.coordinate_faults import reason_of
from geography import codes
from research.selection.models import ImagePlace

MAX_COUNTRIES = 50


@dataclass(frozen=True)
class PlacedImage:
    """An image with the names of its regions, countries and continent, or with what is wrong with its coordinates."""

    key: str
    regions: tuple[str, ...]
    countries: tuple[str, ...]
    continent: str
    problem: str
    is_located: bool
    has_coordinates: bool

    @property
    def name(self) -> str:
        """From the region to the continent, such as "Venice, Veneto, Italy, Europe"."""
        return ", ".join([*self.regions, " / ".join(self.countries), self.continent])


@dataclass(frozen=True)
class PlaceSummary:
    """Numbers of images of a collection. `countries` has (name, images), those of disputed places joined by “/”."""

    located: int
    at_sea: int
    problems: int
    waiting: int
    without: int
    countries: list[tuple[str, int]]


def placed_entries(collection: Collection, *, only_problems: bool = False) -> QuerySet[CollectionImage]:
    entries = collection.entries.select_related("image__place").order_by("position", "pk")
    return entries.exclude(image__place__problem="").filter(image__place__isnull=False) if only_problems else entries


def placed_images(entries: Iterable[CollectionImage]) -> list[PlacedImage]:
    return [_placed(entry) for entry in entries]


def place_summary(collection: Collection) -> PlaceSummary:
    places = ImagePlace.objects.filter(image__entries__collection=collection)
    sound = places.filter(problem="")
    counted = sound.exclude(countries="").values_list("countries").annotate(images=Count("pk")).order_by("-images")
    coordinates = collection.entries.aggregate(
        given=Count("pk", filter=Q(image__latitude__isnull=False)), images=Count("pk")
    )
    return PlaceSummary(
        located=sound.exclude(countries="").count(),
        at_sea=sound.filter(countries="").count(),
        problems=places.exclude(problem="").count(),
        waiting=max(coordinates["given"] - places.count(), 0),
        without=coordinates["images"] - coordinates["given"],
        countries=[
            (" / ".join(map(codes.country_name, several.split())), images)
            for several, images in counted[:MAX_COUNTRIES]
        ],
    )


def _placed(entry: CollectionImage) -> PlacedImage:
    place: ImagePlace | None = getattr(entry.image, "place", None)
    if place is None:
        return PlacedImage(entry.key, (), (), "", "", False, entry.image.latitude is not None)
    return PlacedImage(
        key=entry.key,
        regions=tuple(map(codes.region_name, place.regions.split())),
        countries=tuple(map(codes.country_name, place.countries.split())),
        continent=codes.continent_name(place.continent),
        problem=reason_of(place.problem) if place.problem else "",
        is_located=True,
        has_coordinates=True,
    )
