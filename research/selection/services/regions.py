"""Import polygons of regions, so that places are looked up by them too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import shapely
from django.db import transaction

from core.people.models import User
from research.selection.formats.polygons import RegionPolygons
from research.selection.models import ImportedRegion, RegionFile


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
