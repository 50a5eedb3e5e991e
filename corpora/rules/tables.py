"""Tables of where languages are spoken: regions, countries and continents of each."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from corpora.rules.levels import PLACE_LEVELS, Level
from geography.codes import canonical
from geography.places import CONTINENTS, Place

SHIPPED = Path(__file__).parent.parent / "data" / "language_areas.json"
CODE = re.compile(r"[A-Z]{2}|[A-Z]{1,3}-[A-Z0-9-]{1,36}")


class TableError(ValueError):
    """`problems` are all reasons, each with the language and what to do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Areas:
    """Where one language is spoken: codes of countries and regions, of countries, and of continents."""

    region: frozenset[str] = frozenset()
    country: frozenset[str] = frozenset()
    continent: frozenset[str] = frozenset()

    def as_lists(self) -> dict[str, list[str]]:
        return {str(level): sorted(getattr(self, level)) for level in PLACE_LEVELS}


@dataclass(frozen=True)
class Table:
    """Areas by language tag; the same version has the same areas."""

    version: str
    areas: Mapping[str, Areas]


def read_table(data: Any) -> Table:
    """Read a table: by language tag, lists `region`, `country` and `continent` of codes.

    Raises
    ------
    TableError
        With everything that is wrong.
    """
    if not isinstance(data, dict) or not data:
        raise TableError(
            [_("A table is an object with a language tag for each entry, such as {“ar”: {“country”: [“EG”]}}.")]
        )
    problems: list[str] = []
    areas = {str(tag): _areas_of(str(tag), lists, problems) for tag, lists in data.items()}
    if problems:
        raise TableError(problems)
    return Table(version_of(areas), areas)


def version_of(areas: Mapping[str, Areas]) -> str:
    """Name the content of a table: the first 12 digits of its SHA-256."""
    content = json.dumps({tag: areas[tag].as_lists() for tag in sorted(areas)}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


@cache
def shipped_table() -> Table:
    """The table that comes with the platform, for the 36 languages of Crossmodal-3600."""
    entries = json.loads(SHIPPED.read_text(encoding="utf-8"))["languages"]
    return read_table({tag: {level: entry[level] for level in PLACE_LEVELS} for tag, entry in entries.items()})


def level_of(place: Place, areas: Areas) -> Level:
    """Say how near to a language a place is: the best of the four levels."""
    if not areas.region.isdisjoint((*place.regions, *place.countries)):
        return Level.REGION
    if not areas.country.isdisjoint(place.countries):
        return Level.COUNTRY
    return Level.CONTINENT if place.continent in areas.continent else Level.ANYWHERE


def _areas_of(tag: str, lists: Any, problems: list[str]) -> Areas:
    if not isinstance(lists, dict):
        problems.append(_("%(tag)s: give an object with the lists region, country and continent.") % {"tag": tag})
        return Areas()
    unknown = sorted(str(name) for name in lists if name not in PLACE_LEVELS)
    if unknown:
        values = {"tag": tag, "names": ", ".join(unknown)}
        problems.append(_("%(tag)s: %(names)s is not known. The lists are region, country and continent.") % values)
    found = {level: _codes(tag, level, lists.get(level, []), problems) for level in PLACE_LEVELS}
    if not any(lists.get(level) for level in PLACE_LEVELS):
        problems.append(_("%(tag)s: the language has no place. Give at least one code.") % {"tag": tag})
    return Areas(found[Level.REGION], found[Level.COUNTRY], found[Level.CONTINENT])


def _codes(tag: str, level: Level, codes: Any, problems: list[str]) -> frozenset[str]:
    if not isinstance(codes, list):
        problems.append(_("%(tag)s: %(level)s must be a list of codes.") % {"tag": tag, "level": level})
        return frozenset()
    wrong = [str(code) for code in codes if not _is_code(level, code)]
    if wrong:
        values = {"tag": tag, "codes": ", ".join(wrong), "level": level, "examples": _examples(level)}
        problems.append(_("%(tag)s: %(codes)s is not a code for %(level)s. Codes look like %(examples)s.") % values)
    return frozenset(canonical(code) for code in codes if _is_code(level, code))


def _is_code(level: Level, code: Any) -> bool:
    if not isinstance(code, str):
        return False
    if level == Level.CONTINENT:
        return code in CONTINENTS
    return bool(CODE.fullmatch(code)) and (level == Level.REGION or len(code) == 2)


def _examples(level: Level) -> str:
    of_level: Mapping[Level, Iterable[str]] = {
        Level.REGION: ("IN", "IN-WB"),
        Level.COUNTRY: ("IN",),
        Level.CONTINENT: CONTINENTS,
    }
    return ", ".join(of_level[level])
