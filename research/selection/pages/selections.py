"""Draw where the images of a selection were taken."""

from __future__ import annotations

from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts.world import LegendEntry, MapPoint, WorldMap, world_map
from research.selection.models import PlaceLevelChoice, Selection


def map_of(selection: Selection, *, language: str = "") -> WorldMap:
    """Draw a map with a dot for each chosen image, by level; of one language if it is given."""
    rows = selection.selected_images.filter(language=language) if language else selection.selected_images.all()
    located = rows.annotate(
        north=Coalesce("image__place__latitude", F("candidate__latitude")),
        east=Coalesce("image__place__longitude", F("candidate__longitude")),
    ).filter(north__isnull=False, east__isnull=False)
    points = [
        MapPoint(north, east, level)
        for north, east, level in located.order_by("pk").values_list("north", "east", "level").iterator()
    ]
    counts = {level: sum(point.kind == level for point in points) for level in PlaceLevelChoice}
    summary = ngettext("%(number)d image.", "%(number)d images.", len(points)) % {"number": len(points)}
    legend = [LegendEntry(level.value, f"{level.label} ({count})", True) for level, count in counts.items() if count]
    return world_map(title=_("Where the images were taken"), summary=summary, points=points, legend=legend)
