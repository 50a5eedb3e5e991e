"""Read which language each image was chosen for, from which level, and where it was taken: what exports say of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from core.people.models import Project
from research.selection.models import ImagePlace, SelectedImage, Selection

AT_ONCE = 500
"""Images in one query; SQLite has a limit."""


class ImageOrigin(NamedTuple):
    """Where an image comes from, as every export of captions says it; codes are separated by spaces.

    The place of an image that was chosen is the one that it was chosen by; `table` is the version of the table of where
    languages are spoken, and `borders` that of the borders.
    """

    countries: str = ""
    regions: str = ""
    continent: str = ""
    chosen_for: str = ""
    level: str = ""
    table: str = ""
    borders: str = ""


UNKNOWN = ImageOrigin()
ORIGIN_COLUMNS = tuple(f"image_{name}" for name in ImageOrigin._fields)
"""The columns of a file of captions, in the order of `ImageOrigin`."""


def origins_of(project: Project, image_ids: Collection[int]) -> dict[int, ImageOrigin]:
    """Return where images come from; one is missing if nothing is known of it."""
    found: dict[int, ImageOrigin] = {}
    ids = sorted(set(image_ids))
    for start in range(0, len(ids), AT_ONCE):
        # Without a problem: the coordinates of the others cannot be right.
        places = ImagePlace.objects.filter(image__in=ids[start : start + AT_ONCE], problem="").order_by()
        for place in places:
            found[place.pk] = ImageOrigin(place.countries, place.regions, place.continent, borders=place.borders)
    for image, chosen in chosen_of(project, ids).items():
        found[image] = ImageOrigin(
            chosen.countries,
            chosen.regions,
            chosen.continent,
            chosen.language_id,
            chosen.level,
            chosen.selection.table,
            chosen.selection.borders,
        )
    return found


def chosen_of(project: Project, image_ids: Collection[int]) -> dict[int, SelectedImage]:
    """Return what each image was chosen for; an image is missing if no confirmed selection of the project has it.

    Where several have it, the selection that was confirmed last counts.
    """
    return {row.image_id or 0: row for row in _rows(project, image_ids)}


def _rows(project: Project, image_ids: Collection[int]) -> Iterator[SelectedImage]:
    confirmed = Selection.objects.filter(project=project, confirmed_at__isnull=False)
    if not confirmed.exists():
        return
    rows = SelectedImage.objects.filter(selection__in=confirmed).select_related("selection")
    rows = rows.order_by("selection__confirmed_at", "selection__pk", "pk")
    ids = sorted(set(image_ids))
    for start in range(0, len(ids), AT_ONCE):
        yield from rows.filter(image__in=ids[start : start + AT_ONCE])
