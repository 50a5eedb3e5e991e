"""The pages of selections and of where languages are spoken: maps, areas with names, and what a change would do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts.world import LegendEntry, MapPoint, WorldMap, world_map
from core.languages.models import Language
from geography import codes, outlines
from research.selection.models import PlaceLevelChoice, Selection
from research.selection.rules.tables import PLACE_LEVELS, Areas, AreasChange, AreasTable, PlaceLevel, changes_between


@dataclass(frozen=True)
class NamedCode:
    """A code, and what it is called in English."""

    code: str
    name: str


def rows_of(table: AreasTable) -> list[dict[str, Any]]:
    """One row for each language of the table, by name."""
    languages = Language.objects.in_bulk(list(table.areas))
    found = [_row(languages[tag], areas) for tag, areas in table.areas.items() if tag in languages]
    return sorted(found, key=lambda row: row["language"].name)


def map_of(language: Language, areas: Areas) -> WorldMap:
    """Where one language is spoken; a region without an outline shows as its country."""
    kinds: dict[str, str] = {}
    for code, continents in outlines.continents().items():
        if code in areas.region:
            kinds[code] = PlaceLevel.REGION
        elif code in areas.country or any(region.startswith(f"{code}-") for region in areas.region):
            kinds[code] = PlaceLevel.COUNTRY
        elif continents & areas.continent:
            kinds[code] = PlaceLevel.CONTINENT
    kinds |= {code: PlaceLevel.REGION for code in areas.region if "-" in code}
    legend = [
        LegendEntry(PlaceLevel.REGION, _("Region"), is_dot=False),
        LegendEntry(PlaceLevel.COUNTRY, _("Country"), is_dot=False),
        LegendEntry(PlaceLevel.CONTINENT, _("Continent"), is_dot=False),
    ]
    title = _("Where %(language)s is spoken") % {"language": language.name}
    named = _named(areas.region)
    shown = ", ".join(one.name for one in named) or _("none")
    return world_map(title=title, summary=_("Region: %(places)s.") % {"places": shown}, shades=kinds, legend=legend)


def change_rows(before: AreasTable, after: AreasTable) -> list[dict[str, Any]]:
    """What would change, by language."""
    names = {language.pk: language.name for language in Language.objects.all()}
    return [_change(change, names) for change in changes_between(before, after)]


def as_text(table: AreasTable) -> str:
    """The whole table as JSON: what the preview sends on, and what is exported."""
    return json.dumps(table.as_entries(), ensure_ascii=False, indent=1)


def _row(language: Language, areas: Areas) -> dict[str, Any]:
    return {
        "language": language,
        "region": _named(areas.region),
        "country": _named(areas.country),
        "continent": _continents(sorted(areas.continent)),
        "reasons": [(_name(code), why) for code, why in sorted(areas.reasons.items())],
    }


def _change(change: AreasChange, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "language": names.get(change.tag, change.tag),
        "tag": change.tag,
        "added": _by_level(change.added),
        "removed": _by_level(change.removed),
        "is_new": change.is_new,
        "is_gone": change.is_gone,
    }


def _by_level(found: Mapping[PlaceLevel, Sequence[str]]) -> list[tuple[str, Sequence[NamedCode]]]:
    words = {PlaceLevel.REGION: _("Region"), PlaceLevel.COUNTRY: _("Country"), PlaceLevel.CONTINENT: _("Continent")}
    return [
        (words[level], (_continents if level is PlaceLevel.CONTINENT else _named)(found[level]))
        for level in PLACE_LEVELS
        if level in found
    ]


def _continents(of_codes: Iterable[str]) -> list[NamedCode]:
    return [NamedCode(code, codes.continent_name(code)) for code in of_codes]


def _named(of_codes: Iterable[str]) -> list[NamedCode]:
    return sorted(map(_name, of_codes), key=lambda one: one.name)


def _name(code: str) -> NamedCode:
    return NamedCode(code, codes.country_name(code) if code in codes.countries() else codes.region_name(code))


def selection_map(selection: Selection, *, language: str = "") -> WorldMap:
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
