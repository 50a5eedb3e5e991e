"""Read the images that a selection can choose from, with their places."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.images.models import Collection, CollectionImage
from geography.places import PointPlace
from research.selection.models import Candidate, CandidateList, Located, Selection
from research.selection.rules.levels import PLACE_LEVELS
from research.selection.rules.tables import Areas

AT_ONCE = 10_000
NO_PLACE = "no_place"
"""Images without coordinates, or with such that cannot be right."""


@dataclass
class ImagePool:
    """All that can be chosen: `places` and `ids` go with `keys`; a place is an index into `distinct`.

    Attributes
    ----------
    ids : array of int
        Primary keys of images or, from a list of candidates, of candidates.
    left_out : Counter of str
        How many cannot be chosen, by the reason.
    """

    keys: list[str] = field(default_factory=list)
    ids: array[int] = field(default_factory=lambda: array("q"))
    places: array[int] = field(default_factory=lambda: array("q"))
    distinct: list[PointPlace] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class AvailableImage:
    """One image that can be chosen. `image_id` is None for a candidate, `candidate_id` for an image."""

    key: str
    place: PointPlace
    image_id: int | None
    candidate_id: int | None


def pool_of(source: Collection | CandidateList, *, after_each: Callable[[], None] = lambda: None) -> ImagePool:
    """Read a whole source; `after_each` is called after every `AT_ONCE` images."""
    pool, numbers = ImagePool(), dict[tuple[str, str, str], int]()
    for count, (key, pk, *codes) in enumerate(_rows(source), start=1):
        if count % AT_ONCE == 0:
            after_each()
        if codes[0] is None:
            pool.left_out[NO_PLACE] += 1
            continue
        about = (codes[0], codes[1], codes[2])
        number = numbers.setdefault(about, len(numbers))
        if number == len(pool.distinct):
            pool.distinct.append(place_from(*about))
        pool.keys.append(key)
        pool.ids.append(pk)
        pool.places.append(number)
    return pool


def available(source: Collection | CandidateList, key: str) -> AvailableImage | None:
    """Return the image or candidate with this key; None if there is none that has a place."""
    row = next(iter(_rows(source, key=key)), None)
    if row is None or row[2] is None:
        return None
    is_candidate = isinstance(source, CandidateList)
    image_id, candidate_id = (None, row[1]) if is_candidate else (row[1], None)
    return AvailableImage(row[0], place_from(*row[2:]), image_id, candidate_id)


def place_from(countries: str, regions: str, continent: str) -> PointPlace:
    """Return the place that columns of `research.selection.models.Located` hold."""
    return PointPlace(tuple(countries.split()), tuple(regions.split()), continent)


def place_of(row: Located) -> PointPlace:
    return place_from(row.countries, row.regions, row.continent)


def areas_of(selection: Selection) -> dict[str, Areas]:
    """Return where the languages of a selection are spoken, as it was when the selection was started."""
    return {tag: areas_from(lists) for tag, lists in selection.areas.items()}


def areas_from(lists: Mapping[str, Any]) -> Areas:
    region, country, continent = (frozenset(lists.get(name, ())) for name in PLACE_LEVELS)
    return Areas(region, country, continent)


def source_of(selection: Selection) -> Collection | CandidateList:
    source = selection.source or selection.candidates
    assert source is not None  # a constraint of the database
    return source


def _rows(source: Collection | CandidateList, key: str | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield key, primary key, countries, regions and continent; countries is None where there is no place."""
    named = {} if key is None else {"key": key}
    if isinstance(source, CandidateList):
        candidates = Candidate.objects.filter(list=source, **named).order_by()
        yield from candidates.values_list("key", "pk", "countries", "regions", "continent").iterator(AT_ONCE)
        return
    entries = CollectionImage.objects.in_results().filter(collection=source, **named).order_by()
    columns = [f"image__place__{name}" for name in ("countries", "regions", "continent", "problem")]
    for *row, problem in entries.values_list("key", "image_id", *columns).iterator(AT_ONCE):
        yield (*row[:2], None, None, None) if problem else tuple(row)
