"""Read candidates for a selection from a CSV file, and write what was chosen as JSON."""

from __future__ import annotations

import gc
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from crosslens_metrics.formats.csv_records import csv_records
from crosslens_metrics.formats.problems import LineError
from geography import codes
from geography.places import CONTINENTS, CoordinateFault, PointPlace, fault_of
from research.selection.models import Selection
from research.selection.rules.selection import LEVELS, SelectedImages
from research.selection.selectors.pools import place_of
from research.selection.selectors.selections import language_rows, slugs_by_language

KEY_CHARACTERS = 200
COORDINATES = ("latitude", "longitude")
PLACE_COLUMNS = ("countries", "region", "continent")
MAX_NAMED = 20
LOCATED_AT_ONCE = 100_000

WHY_NOT = {
    CoordinateFault.MISSING: "has no coordinates",
    CoordinateFault.NOT_A_NUMBER: "has coordinates that are not numbers",
    CoordinateFault.OUT_OF_RANGE: "has coordinates that are out of range",
    CoordinateFault.SWAPPED: "seems to have latitude and longitude swapped",
    CoordinateFault.NULL_ISLAND: "lies at 0, 0, which stands for unknown",
}

Locate = Callable[[Sequence[float], Sequence[float]], Sequence[PointPlace]]


@dataclass
class CandidatePool:
    """Candidates of a file, with their places."""

    keys: list[str] = field(default_factory=list)
    places: array[int] = field(default_factory=lambda: array("q"))
    """Of each key, into `distinct`."""
    distinct: list[PointPlace] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Lines that cannot be used, by the reason."""
    examples: list[str] = field(default_factory=list)
    """The first of them, with their lines."""

    def leave_out(self, number: int, reason: str, text: str) -> None:
        self.left_out[reason] += 1
        if len(self.examples) < MAX_NAMED:
            self.examples.append(f"Line {number}: {text}")


def read_candidates(file: IO[bytes], *, locate: Locate) -> CandidatePool:
    """Read keys and coordinates; those without a place of their own are located.

    - `file`: CSV with the columns key, latitude and longitude (degrees), in any case. Where a line also has countries,
      region and continent in codes (several countries separated by blanks), they are taken as they are. Other columns
      are ignored.
    - `locate`: from latitudes and longitudes to places, such as `geography.borders.Borders.locate`.

    Raises FileRefusedError where the file cannot be read at all, or a column is missing.
    """
    found, seen, numbers = CandidatePool(), set[str](), dict[PointPlace, int]()
    waiting_at, latitudes, longitudes = array("q"), array("d"), array("d")

    def number_of(place: PointPlace) -> int:
        number = numbers.setdefault(place, len(numbers))
        if number == len(found.distinct):
            found.distinct.append(place)
        return number

    of_columns: dict[tuple[str, ...], int | None] = {}
    for record in csv_records(file, column="key", more=COORDINATES):
        if isinstance(record, LineError):
            found.leave_out(record.number, "cannot be read", record.reason)
            continue
        values: dict[str, str] = record.value
        key = (values.get("key") or "").strip()
        if not key or len(key) > KEY_CHARACTERS:
            found.leave_out(record.number, "has no usable key", f"needs a key of 1 to {KEY_CHARACTERS} characters")
            continue
        if key in seen:
            found.leave_out(record.number, "has the key of an earlier line", f"{key} is there twice")
            continue
        latitude, longitude = values.get("latitude", ""), values.get("longitude", "")
        fault = fault_of(latitude, longitude)
        if fault is not None:
            found.leave_out(record.number, WHY_NOT[fault], f"{key} {WHY_NOT[fault]}")
            continue
        seen.add(key)
        found.keys.append(key)
        cells = tuple([values.get(name, "") for name in PLACE_COLUMNS])
        if cells not in of_columns:
            place = _place(*cells)
            of_columns[cells] = None if place is None else number_of(place)
        number = of_columns[cells]
        if number is not None:
            found.places.append(number)
        else:
            waiting_at.append(len(found.places))
            found.places.append(0)
            latitudes.append(float(latitude))
            longitudes.append(float(longitude))
    with _without_collection():
        for start in range(0, len(waiting_at), LOCATED_AT_ONCE):
            part = slice(start, start + LOCATED_AT_ONCE)
            for index, place in zip(waiting_at[part], locate(latitudes[part], longitudes[part]), strict=True):
                found.places[index] = number_of(place)
    return found


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no garbage in cycles: there is none, and each search goes through a million keys."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def as_json(choice: SelectedImages, candidates: CandidatePool) -> dict[str, Any]:
    """Return images and counts by language, as `select_images --json` prints them."""
    return {
        "images": [
            {
                "key": one.key,
                "language": one.language,
                "level": str(one.level),
                **place_as_json(candidates.distinct[candidates.places[one.index]]),
            }
            for one in choice.images
        ],
        "languages": {tag: _by_level(one.chosen) for tag, one in sorted(choice.languages.items())},
        "pools": {tag: _by_level(one.pool) for tag, one in sorted(choice.languages.items())},
        "free": {tag: _by_level(one.free) for tag, one in sorted(choice.languages.items())},
        "missing": {tag: one.missing for tag, one in sorted(choice.languages.items())},
        "left_out": dict(sorted(candidates.left_out.items())),
    }


def place_as_json(place: PointPlace) -> dict[str, Any]:
    return {"countries": list(place.countries), "region": place.region or None, "continent": place.continent or None}


def _by_level(counts: dict[Any, int]) -> dict[str, int]:
    return {str(level): counts[level] for level in LEVELS}


def _place(countries: str, region: str, continent: str) -> PointPlace | None:
    """Return the place that the cells give in codes, with the larger regions that it is in, or None."""
    named = tuple(sorted({codes.canonical(code) for code in countries.split()}))
    continent = codes.canonical(continent)
    if not named or not set(named).issubset(codes.countries()) or continent not in CONTINENTS:
        return None
    regions = [codes.canonical(code) for code in region.split()]
    parents = [parent for code in regions for parent in codes.parents_of(code)]
    return PointPlace(named, tuple(dict.fromkeys([*regions, *parents])), continent)


def selection_as_json(selection: Selection) -> dict[str, Any]:
    """Return images and counts by language, as `select_images --json` prints them."""
    rows = {row.language.tag: row for row in language_rows(selection) if row.language is not None}
    chosen = selection.selected_images.order_by("language", "position")
    return {
        "selection": selection.number,
        "collection": selection.collection.slug if selection.collection else None,
        "collections": slugs_by_language(selection),
        "table": selection.table,
        "borders": selection.borders,
        "images": [
            {"key": one.key, "language": one.language_id, "level": one.level, **place_as_json(place_of(one))}
            for one in chosen.iterator()
        ],
        "languages": {tag: {one.level.value: one.chosen for one in row.levels} for tag, row in sorted(rows.items())},
        "pools": {tag: {one.level.value: one.pool for one in row.levels} for tag, row in sorted(rows.items())},
        "free": {tag: {one.level.value: one.free for one in row.levels} for tag, row in sorted(rows.items())},
        "missing": {tag: row.missing for tag, row in sorted(rows.items())},
        "left_out": selection.counts.get("left_out", {}),
    }
