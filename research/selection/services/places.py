"""Look up where images were taken, by borders and imported regions. Nobody is shown the coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Count, F, Max, QuerySet

from core.images.models import Collection, Image
from core.people.models import User
from geography.places import PointPlace, fault_of
from research.selection.models import ImagePlace, ImagePlaceCode, ImportedRegion, RegionFile

if TYPE_CHECKING:
    from geography.borders import Borders
    from research.selection.formats.polygons import RegionPolygons

AT_ONCE = 1_000
"""Images in one transaction."""

Position = tuple[int, float, float]
"""An image's number with its latitude and longitude in degrees."""


def current_borders() -> Borders:
    """The borders that come with the platform, with the regions imported here."""
    rows = ImportedRegion.objects.aggregate(count=Count("pk"), newest=Max("pk"))
    return _borders_with(rows["count"], rows["newest"])


@lru_cache(maxsize=1)
def _borders_with(count: int, newest: int | None) -> Borders:
    """Regions are only ever added and deleted, so that number and newest row tell one set of them from another."""
    # 4 MB, which web processes do without: workers look places up.
    import shapely

    from geography.borders import BorderRegion, shipped_borders

    rows = ImportedRegion.objects.values_list("code", "shape")
    return shipped_borders().adding(BorderRegion(code, shapely.from_wkb(bytes(shape))) for code, shape in rows)


def locate_images(
    *,
    collection: Collection | None = None,
    at_most: int | None = None,
    after_each: Callable[[], None] = lambda: None,
) -> int:
    """Bring the places of images up to date, of all or of one collection; returns how many were looked up.

    That is where an image has coordinates and no place, or one by other borders or for other coordinates. Where the
    coordinates are gone, the place goes too. Several may do it at once. `after_each` is called after every `AT_ONCE`
    images.
    """
    borders = current_borders()
    images = Image.objects.all() if collection is None else Image.objects.filter(collections=collection)
    _forget(images)
    done, last = 0, 0
    while at_most is None or done < at_most:
        positions = _outdated(images.filter(pk__gt=last), borders.version)
        if not positions:
            break
        places = borders.locate([each[1] for each in positions], [each[2] for each in positions])
        done += _store(positions, places, borders.version)
        last = positions[-1][0]
        after_each()
    return done


def _outdated(images: QuerySet[Image], version: str) -> list[Position]:
    rows = images.filter(latitude__isnull=False, longitude__isnull=False)
    rows = rows.exclude(place__borders=version, place__latitude=F("latitude"), place__longitude=F("longitude"))
    found = rows.order_by("pk").values_list("pk", "latitude", "longitude")[:AT_ONCE]
    return [(image, north, east) for image, north, east in found if north is not None and east is not None]


def _forget(images: QuerySet[Image]) -> None:
    gone = ImagePlace.objects.filter(image__in=images.filter(latitude__isnull=True).values("pk"))
    if gone.exists():
        with transaction.atomic():
            ids = sorted(gone.select_for_update(of=("self",)).values_list("pk", flat=True))
            ImagePlaceCode.objects.filter(image__in=ids).delete()
            ImagePlace.objects.filter(pk__in=ids).delete()


@transaction.atomic
def _store(positions: Sequence[Position], places: Sequence[PointPlace], version: str) -> int:
    """Store what was found, but for images that have other coordinates by now."""
    images = Image.objects.filter(pk__in=[each[0] for each in positions]).order_by("pk")
    # The images are locked so that two who look up the same ones store them one after the other.
    now = {
        image: (latitude, longitude)
        for image, latitude, longitude in images.select_for_update(no_key=True).values_list(
            "pk", "latitude", "longitude"
        )
    }
    found = [
        (image, latitude, longitude, place)
        for (image, latitude, longitude), place in zip(positions, places, strict=True)
        if now.get(image) == (latitude, longitude)
    ]
    rows = [
        ImagePlace(
            image_id=image,
            latitude=latitude,
            longitude=longitude,
            countries=" ".join(place.countries),
            regions=" ".join(place.regions),
            continent=place.continent,
            problem=fault_of(latitude, longitude) or "",
            borders=version,
        )
        for image, latitude, longitude, place in found
    ]
    fields = ["latitude", "longitude", "countries", "regions", "continent", "problem", "borders"]
    ImagePlace.objects.bulk_create(rows, update_conflicts=True, unique_fields=["image"], update_fields=fields)
    ImagePlaceCode.objects.filter(image__in=[image for image, *_ in found]).delete()
    codes = [
        ImagePlaceCode(image_id=image, code=code)
        for image, _, _, place in found
        for code in dict.fromkeys((*place.countries, *place.regions))
    ]
    ImagePlaceCode.objects.bulk_create(codes, batch_size=5_000)
    return len(found)


@dataclass(frozen=True)
class RegionImport:
    """How many regions are new, how many replaced one imported earlier, and how many were there as they are."""

    added: int
    replaced: int
    unchanged: int


@transaction.atomic
def import_regions(
    *, regions: Sequence[RegionPolygons], name: str, sha256: str, source: str, by: User | None, now: datetime
) -> RegionImport:
    """Store regions, in place of those with the same codes that an earlier file had.

    Images are located by them at the next sweep of places, or with `locate_images`. Nothing changes for regions that
    are there already with the same outline and name.
    """
    import shapely

    codes = [region.code for region in regions]
    # Locked in one order, so that of two imports of the same codes the later one replaces the earlier.
    earlier = {
        row.code: row
        for row in ImportedRegion.objects.filter(code__in=codes).order_by("code").select_for_update(no_key=True)
    }
    new = []
    for region in regions:
        row, shape = earlier.get(region.code), shapely.to_wkb(region.shape, byte_order=1)
        if row is None or (bytes(row.shape), row.name) != (shape, region.name):
            new.append(ImportedRegion(code=region.code, name=region.name, shape=shape))
    if new:
        file, _ = RegionFile.objects.update_or_create(
            sha256=sha256, defaults={"name": name, "source": source, "imported_at": now, "imported_by": by}
        )
        ImportedRegion.objects.filter(code__in=[row.code for row in new]).delete()
        for row in new:
            row.file = file
        ImportedRegion.objects.bulk_create(new, batch_size=500)
    replaced = sum(row.code in earlier for row in new)
    return RegionImport(added=len(new) - replaced, replaced=replaced, unchanged=len(regions) - len(new))
