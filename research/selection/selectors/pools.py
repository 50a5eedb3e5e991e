"""Read what a selection can choose from: images and lists of candidates, with their places."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection, CollectionImage
from core.people.models import Project
from geography.codes import country_name
from geography.places import PointPlace
from research.selection.models import Candidate, CandidateList, Located, Selection
from research.selection.rules.candidates import CandidateFault
from research.selection.rules.tables import PLACE_LEVELS, Areas

AT_ONCE = 10_000
NO_PLACE = "no_place"
"""Images without coordinates, or with such that cannot be right."""


@dataclass
class ImagePool:
    """All that can be chosen: `places` and `ids` go with `keys`; a place is an index into `distinct`."""

    keys: list[str] = field(default_factory=list)
    ids: array[int] = field(default_factory=lambda: array("q"))
    """Primary keys of images or, from a list of candidates, of candidates."""
    places: array[int] = field(default_factory=lambda: array("q"))
    distinct: list[PointPlace] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """How many cannot be chosen, by the reason."""


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


COUNTRIES_SHOWN = 12

FAULT_TEXTS: Mapping[CandidateFault, object] = {
    CandidateFault.COORDINATES_MISSING: _("Coordinates are missing."),
    CandidateFault.COORDINATES_NOT_NUMBERS: _("Coordinates are not numbers."),
    CandidateFault.COORDINATES_OUT_OF_RANGE: _("Coordinates are not on Earth."),
    CandidateFault.COORDINATES_SWAPPED: _("Latitude and longitude are swapped."),
    CandidateFault.COORDINATES_ZERO: _("Coordinates are 0, 0, which usually means unknown."),
    CandidateFault.NO_KEY: _("There is no key."),
    CandidateFault.NO_ADDRESS: _("There is no address."),
    CandidateFault.BAD_ADDRESS: _("The address is neither http:// or https://, nor a path within a folder."),
    CandidateFault.PRIVATE_ADDRESS: _("The address is in a private network, from which nothing is fetched."),
    CandidateFault.NO_LICENCE: _("There is no licence."),
    CandidateFault.BAD_CHECKSUM: _("The checksum is not MD5, SHA-1 or SHA-256."),
    CandidateFault.TOO_LONG: _("The key, address or licence is too long."),
    CandidateFault.UNREADABLE: _("The line holds control characters, or quotation marks that are not doubled."),
    CandidateFault.KEY_TWICE: _("An earlier line has the same key."),
    CandidateFault.IMAGE_TWICE: _("An earlier line is the same image: it has the same address or checksum."),
}


@dataclass(frozen=True)
class ListSummary:
    """A list of candidates: `left_out` by reason and `countries` by name, the most first.

    `more_countries` is how many candidates are in other countries than those named.
    """

    candidates: CandidateList
    kept: int
    left_out: list[tuple[str, int]]
    countries: list[tuple[str, int]]
    more_countries: int
    at_sea: int
    is_complete: bool
    is_used: bool


def fault_text(fault: CandidateFault) -> str:
    return str(FAULT_TEXTS[fault])


def lists_of(project: Project) -> QuerySet[CandidateList]:
    return CandidateList.objects.filter(project=project).annotate(uses=Count("selections")).order_by("name", "pk")


def is_complete(candidates: CandidateList) -> bool:
    """Return whether the file was read to its end, so that images can be chosen from the list."""
    return bool(candidates.counts.get("complete", True))


def summary_of(candidates: CandidateList) -> ListSummary:
    """Summarise a list; its row is of `lists_of`."""
    counts = candidates.counts
    countries = sorted(counts.get("countries", {}).items(), key=lambda one: (-one[1], one[0]))
    left_out = sorted(counts.get("left_out", {}).items(), key=lambda one: (-one[1], one[0]))
    return ListSummary(
        candidates=candidates,
        kept=counts.get("kept", 0),
        left_out=[(fault_text(CandidateFault(name)), count) for name, count in left_out],
        countries=[(country_name(code), count) for code, count in countries[:COUNTRIES_SHOWN]],
        more_countries=sum(count for _code, count in countries[COUNTRIES_SHOWN:]),
        at_sea=counts.get("at_sea", 0),
        is_complete=is_complete(candidates),
        is_used=getattr(candidates, "uses", 0) > 0,
    )
