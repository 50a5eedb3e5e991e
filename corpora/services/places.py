"""Look up where images were taken, and keep it up to date with the borders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import shapely
from django.db import transaction
from django.db.models import F, Q, QuerySet

from corpora.models import ImagePlace, ImagePlaceCode, ImportedRegion
from geography.borders import Borders, Region, shipped_borders
from geography.coordinates import fault_of
from geography.places import Place
from images.models import Collection, Image

AT_ONCE = 1000


def current_borders() -> Borders:
    """Return the borders that come with the platform, with the regions that were imported."""
    return _with_regions(tuple(ImportedRegion.objects.order_by("pk").values_list("pk", flat=True)))


def locate_images(*, collection: Collection | None = None, after_each: Callable[[], None] = lambda: None) -> int:
    """Look up images with coordinates whose place is missing or out of date; returns how many.

    `after_each` is called after every `AT_ONCE` images.
    """
    borders, count = current_borders(), 0
    for images in _chunks(_outdated(borders.version, collection)):
        latitudes, longitudes = [one.latitude or 0.0 for one in images], [one.longitude or 0.0 for one in images]
        _store(images, borders.locate(latitudes, longitudes), borders.version)
        count += len(images)
        after_each()
    return count


@lru_cache(maxsize=1)
def _with_regions(ids: tuple[int, ...]) -> Borders:
    regions = ImportedRegion.objects.filter(pk__in=ids)
    return shipped_borders().adding([Region(one.code, shapely.from_wkb(bytes(one.shape))) for one in regions])


def _outdated(version: str, collection: Collection | None) -> QuerySet[Image]:
    images = Image.objects.filter(latitude__isnull=False, longitude__isnull=False)
    if collection is not None:
        images = images.filter(entries__collection=collection)
    moved = ~Q(place__latitude=F("latitude")) | ~Q(place__longitude=F("longitude"))
    return images.filter(Q(place__isnull=True) | ~Q(place__borders=version) | moved).order_by("pk")


def _chunks(images: QuerySet[Image]) -> Iterator[list[Image]]:
    chunk = list(images[:AT_ONCE])
    while chunk:
        yield chunk
        chunk = list(images.filter(pk__gt=chunk[-1].pk)[:AT_ONCE])


def _store(images: Sequence[Image], places: Sequence[Place], version: str) -> None:
    rows, codes = [], []
    for image, found in zip(images, places, strict=True):
        problem = fault_of(image.latitude, image.longitude)
        place = Place() if problem else found
        rows.append(
            ImagePlace(
                image=image,
                latitude=image.latitude or 0.0,
                longitude=image.longitude or 0.0,
                countries=" ".join(place.countries),
                regions=" ".join(place.regions),
                continent=place.continent,
                problem=problem or "",
                borders=version,
            )
        )
        codes += [ImagePlaceCode(image=image, code=code) for code in {*place.countries, *place.regions}]
    columns = ["latitude", "longitude", "countries", "regions", "continent", "problem", "borders"]
    with transaction.atomic():
        ImagePlace.objects.bulk_create(rows, update_conflicts=True, unique_fields=["image"], update_fields=columns)
        ImagePlaceCode.objects.filter(image__in=images).delete()
        ImagePlaceCode.objects.bulk_create(codes, ignore_conflicts=True)
