"""Tables of where languages are spoken: regions, countries and continents of each, and what differs between two."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from geography import codes
from geography.places import CONTINENTS, PointPlace


class PlaceLevel(StrEnum):
    """From the best to the worst; see PLACE_LEVELS for those that depend on a place."""

    REGION = "region"
    COUNTRY = "country"
    CONTINENT = "continent"
    ANYWHERE = "anywhere"


PLACE_LEVELS = (PlaceLevel.REGION, PlaceLevel.COUNTRY, PlaceLevel.CONTINENT)


SHIPPED = Path(__file__).parent.parent / "data" / "language_areas.json"
REASONS = "reasons"
WITHOUT_BORDERS = frozenset(
    f"CD-{code}"
    for code in [
        "BU",
        "HK",
        "HL",
        "HU",
        "IT",
        "KC",
        "KG",
        "KL",
        "KS",
        "LO",
        "LU",
        "MN",
        "MO",
        "NU",
        "SA",
        "SU",
        "TA",
        "TO",
        "TU",
    ]
)
"""Codes of ISO 3166-2 that a table may have although no borders are here: they select nothing."""


class TableError(ValueError):
    """`problems` are all reasons, each with the language and what to do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Areas:
    """Where one language is spoken: codes of countries and regions, of countries, and of continents.

    `reasons` says of some of the codes why they are there, or not there; it is no part of a table's version.
    """

    region: frozenset[str] = frozenset()
    country: frozenset[str] = frozenset()
    continent: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict, compare=False)

    def at(self, level: PlaceLevel) -> frozenset[str]:
        """The codes of `level`; none for Level.ANYWHERE."""
        return {
            PlaceLevel.REGION: self.region,
            PlaceLevel.COUNTRY: self.country,
            PlaceLevel.CONTINENT: self.continent,
        }.get(level, frozenset())

    def as_lists(self) -> dict[str, list[str]]:
        return {str(level): sorted(self.at(level)) for level in PLACE_LEVELS}

    def as_entry(self) -> dict[str, Any]:
        """The lists, and the reasons where there are any: what `read_table` reads of one language."""
        return self.as_lists() | ({REASONS: dict(sorted(self.reasons.items()))} if self.reasons else {})


@dataclass(frozen=True)
class AreasTable:
    """Areas by language tag; the same version has the same areas."""

    version: str
    areas: Mapping[str, Areas]

    def as_entries(self) -> dict[str, Any]:
        """What `read_table` reads, by language tag in alphabetical order."""
        return {tag: self.areas[tag].as_entry() for tag in sorted(self.areas)}


def data_of(content: bytes) -> Any:
    """Read the JSON of a file with a table, for `read_table`.

    Raises TableError if it is not JSON, or an object names something twice, of which JSON would keep the last.
    """
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise TableError([_("This is not a JSON file (%(error)s).") % {"error": error}]) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _value in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise TableError([_("“%(name)s” comes twice.") % {"name": twice}])
    return found


def read_table(data: Any, *, tags: Collection[str] | None = None, imported: Collection[str] = ()) -> AreasTable:
    """Read a table: by language tag, lists `region`, `country` and `continent` of codes, and maybe `reasons` by code.

    - `data`: as JSON has it. A list that is missing is empty.
    - `tags`: the tags that are known; without it, any that BCP 47 allows are.
    - `imported`: codes of regions besides those that the shipped borders have.

    Raises TableError with everything that is wrong: tags, codes, types, languages without any place.
    """
    if not isinstance(data, dict) or not data:
        raise TableError(
            [_('A table is an object with a language tag for each entry, such as {"ar": {"country": ["EG"]}}.')]
        )
    problems: list[str] = []
    areas: dict[str, Areas] = {}
    for written, lists in data.items():
        tag = _tag(str(written), tags, problems)
        if tag in areas:
            problems.append(_("%(tag)s: this language is in the table twice.") % {"tag": written})
        areas[tag] = _areas_of(str(written), lists, imported, problems)
    if problems:
        raise TableError(problems)
    return AreasTable(version_of(areas), areas)


def as_stored(data: Mapping[str, Any]) -> AreasTable:
    """Take a table that was checked when it was stored. Regions may be gone since: they select nothing."""
    areas = {
        tag: Areas(
            region=frozenset(entry[PlaceLevel.REGION]),
            country=frozenset(entry[PlaceLevel.COUNTRY]),
            continent=frozenset(entry[PlaceLevel.CONTINENT]),
            reasons=entry.get(REASONS, {}),
        )
        for tag, entry in data.items()
    }
    return AreasTable(version_of(areas), areas)


def version_of(areas: Mapping[str, Areas]) -> str:
    """Name the content of a table: the first 12 digits of its SHA-256."""
    content = json.dumps({tag: areas[tag].as_lists() for tag in sorted(areas)}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


@cache
def shipped_table() -> AreasTable:
    """The table that comes with the platform, for the 36 languages of Crossmodal-3600."""
    return read_table(json.loads(SHIPPED.read_text(encoding="utf-8")))


def level_of(place: PointPlace, areas: Areas) -> PlaceLevel:
    """Say how near to a language a place is: the best of the four levels."""
    if not areas.region.isdisjoint((*place.regions, *place.countries)):
        return PlaceLevel.REGION
    if not areas.country.isdisjoint(place.countries):
        return PlaceLevel.COUNTRY
    return PlaceLevel.CONTINENT if place.continent in areas.continent else PlaceLevel.ANYWHERE


def _tag(written: str, tags: Collection[str] | None, problems: list[str]) -> str:
    try:
        tag = canonical_tag(written)
    except MalformedTagError as error:
        problems.append(str(error))
        return written
    if tags is not None and tag not in tags:
        problems.append(_("%(tag)s: there is no language with this tag.") % {"tag": written})
    return tag


def _areas_of(tag: str, lists: Any, imported: Collection[str], problems: list[str]) -> Areas:
    if not isinstance(lists, dict):
        problems.append(_("%(tag)s: give an object with the lists region, country and continent.") % {"tag": tag})
        return Areas()
    unknown = sorted(str(name) for name in lists if name not in (*PLACE_LEVELS, REASONS))
    if unknown:
        values = {"tag": tag, "names": ", ".join(unknown)}
        problems.append(_("%(tag)s: %(names)s is not known. The lists are region, country and continent.") % values)
    found = {level: _codes(tag, level, lists.get(level, []), imported, problems) for level in PLACE_LEVELS}
    if not any(lists.get(level) for level in PLACE_LEVELS):
        problems.append(_("%(tag)s: the language has no place. Give at least one code.") % {"tag": tag})
    reasons = lists.get(REASONS, {})
    if not isinstance(reasons, dict) or not all(isinstance(reason, str) for reason in reasons.values()):
        problems.append(_("%(tag)s: reasons must be an object with a text for each code.") % {"tag": tag})
        reasons = {}
    by_code = {codes.canonical(str(code)): reason for code, reason in reasons.items()}
    return Areas(found[PlaceLevel.REGION], found[PlaceLevel.COUNTRY], found[PlaceLevel.CONTINENT], by_code)


def _codes(tag: str, level: PlaceLevel, written: Any, imported: Collection[str], problems: list[str]) -> frozenset[str]:
    if not isinstance(written, list) or not all(isinstance(code, str) for code in written):
        problems.append(_("%(tag)s: %(level)s must be a list of codes.") % {"tag": tag, "level": level})
        return frozenset()
    given = {code: codes.canonical(code) for code in written}
    wrong = [code for code, canonical in given.items() if not _is_known(level, canonical, imported)]
    if wrong:
        values = {"tag": tag, "codes": ", ".join(wrong), "level": level, "examples": _EXAMPLES[level]}
        problems.append(_("%(tag)s: no %(level)s has the code %(codes)s. Codes look like %(examples)s.") % values)
    return frozenset(given.values())


def _is_known(level: PlaceLevel, code: str, imported: Collection[str]) -> bool:
    if level == PlaceLevel.CONTINENT:
        return code in CONTINENTS
    if level == PlaceLevel.COUNTRY:
        return code in codes.countries()
    return codes.is_known(code) or code in WITHOUT_BORDERS or code in imported


_EXAMPLES = {PlaceLevel.REGION: "IN, IN-WB", PlaceLevel.COUNTRY: "IN", PlaceLevel.CONTINENT: ", ".join(CONTINENTS)}


@dataclass(frozen=True)
class AreasChange:
    """What one language gains and loses, by level. `is_new` and `is_gone` tell of languages in one table only."""

    tag: str
    added: Mapping[PlaceLevel, Sequence[str]]
    removed: Mapping[PlaceLevel, Sequence[str]]
    is_new: bool = False
    is_gone: bool = False


def changes_between(before: AreasTable, after: AreasTable) -> list[AreasChange]:
    """Return the languages whose codes differ, by tag. Reasons do not count."""
    made = []
    for tag in sorted({*before.areas, *after.areas}):
        old, new = before.areas.get(tag, Areas()), after.areas.get(tag, Areas())
        if old != new:
            added, removed = _surplus(new, old), _surplus(old, new)
            made.append(
                AreasChange(tag, added, removed, is_new=tag not in before.areas, is_gone=tag not in after.areas)
            )
    return made


def _surplus(one: Areas, other: Areas) -> dict[PlaceLevel, list[str]]:
    by_level = {level: sorted(one.at(level) - other.at(level)) for level in PLACE_LEVELS}
    return {level: codes for level, codes in by_level.items() if codes}
