"""Read where images were taken: for pages, for the filter of a collection, and as exports say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage
from core.images.rules.attributions import reason_of
from core.images.selectors.filters import Choices, FilterError, filter_choices
from core.images.selectors.image_pages import PageSection
from core.people.models import Project, User
from geography import codes
from research.selection.models import ImagePlace, SelectedImage, Selection
from research.selection.rules.image_filters import FilterKind, FilterTerm, ImageFilterError, parse
from research.selection.selectors.subsets import taken_in

MAX_COUNTRIES = 50


@dataclass(frozen=True)
class PlacedImage:
    """An image with the names of its regions, countries and continent, or with what is wrong with its coordinates."""

    key: str
    regions: tuple[str, ...]
    countries: tuple[str, ...]
    continent: str
    problem: str
    is_located: bool
    has_coordinates: bool

    @property
    def name(self) -> str:
        """From the region to the continent, such as "Venice, Veneto, Italy, Europe"."""
        return ", ".join([*self.regions, " / ".join(self.countries), self.continent])


def placed_entries(collection: Collection, *, only_problems: bool = False) -> QuerySet[CollectionImage]:
    entries = collection.entries.select_related("image__place").order_by("position", "pk")
    return entries.exclude(image__place__problem="").filter(image__place__isnull=False) if only_problems else entries


def placed_images(entries: Iterable[CollectionImage]) -> list[PlacedImage]:
    return [_placed(entry) for entry in entries]


def place_summary(collection: Collection) -> dict[str, Any]:
    """Count the images of a collection; `countries` has (name, images), those of disputed places joined by “/”."""
    places = ImagePlace.objects.filter(image__entries__collection=collection)
    sound = places.filter(problem="")
    counted = sound.exclude(countries="").values_list("countries").annotate(images=Count("pk")).order_by("-images")
    coordinates = collection.entries.aggregate(
        given=Count("pk", filter=Q(image__latitude__isnull=False)), images=Count("pk")
    )
    return {
        "located": sound.exclude(countries="").count(),
        "at_sea": sound.filter(countries="").count(),
        "problems": places.exclude(problem="").count(),
        "waiting": max(coordinates["given"] - places.count(), 0),
        "without": coordinates["images"] - coordinates["given"],
        "countries": [
            (" / ".join(map(codes.country_name, several.split())), images)
            for several, images in counted[:MAX_COUNTRIES]
        ],
    }


def _placed(entry: CollectionImage) -> PlacedImage:
    place: ImagePlace | None = getattr(entry.image, "place", None)
    if place is None:
        return PlacedImage(entry.key, (), (), "", "", False, entry.image.latitude is not None)
    return PlacedImage(
        key=entry.key,
        regions=tuple(map(codes.region_name, place.regions.split())),
        countries=tuple(map(codes.country_name, place.countries.split())),
        continent=codes.continent_name(place.continent),
        problem=reason_of(place.problem) if place.problem else "",
        is_located=True,
        has_coordinates=True,
    )


NOT_KNOWN = "unknown"
"""The place is not known: no coordinates, such that cannot be right, or not looked up yet."""


def place_choices(collection: Collection, viewer: User, asked: str) -> Choices:
    """Offer continents, the countries in the collection and, of the country asked for, its regions."""
    stored = ImagePlace.objects.filter(image__entries__collection=collection, problem="").order_by()
    distinct = stored.values_list("countries", flat=True).distinct()
    found = filter_choices("countries", collection, lambda: list(distinct))
    countries = {code for several in found for code in several.split()}
    chosen = _country(asked)
    of_country = stored.filter(countries__contains=chosen) if chosen else stored.none()
    regions = {code for several in of_country.values_list("regions", flat=True).distinct() for code in several.split()}
    named_regions = {code: codes.region_name(code) for code in regions if code.startswith(f"{chosen}-")}
    groups = [
        (_("Regions"), _terms(FilterKind.IN, named_regions)),
        (_("Countries"), _terms(FilterKind.IN, {code: codes.country_name(code) for code in countries})),
        (_("Continents"), _terms(FilterKind.ON, codes.CONTINENT_NAMES)),
    ]
    known = {value for _group, terms in groups for value, _label in terms}
    # Another place may stand in an address, such as one that no image has any more.
    other = [(asked, asked)] if asked not in known | {"", NOT_KNOWN} and _term(asked) else []
    return [(NOT_KNOWN, _("not known")), *other, *((name, terms) for name, terms in groups if terms)]


def place_condition(collection: Collection, viewer: User, asked: str) -> Q:
    """Raises FilterError."""
    if asked == NOT_KNOWN:
        return ~Q(image__in=ImagePlace.objects.filter(problem="").values("pk"))
    try:
        (term,) = parse(asked).terms
        return Q(image__in=taken_in(term).values("pk"))
    except (ImageFilterError, ValueError) as error:
        raise FilterError(str(error)) from error


def places_section(entry: CollectionImage, viewer: User) -> PageSection:
    (placed,) = placed_images([entry])
    return PageSection("corpora/_image_places.html", {"image": placed})


def _country(asked: str) -> str:
    """Return the country of a place that is asked for, if it is in one."""
    term = _term(asked)
    return term.value.partition("-")[0] if term and term.kind is FilterKind.IN else ""


def _term(asked: str) -> FilterTerm | None:
    """Return the one term that says where images were taken, of those that a filter may have."""
    try:
        terms = parse(asked).terms
    except ImageFilterError:
        return None
    return terms[0] if len(terms) == 1 and terms[0].kind in (FilterKind.IN, FilterKind.ON) else None


def _terms(kind: FilterKind, names: Mapping[str, str]) -> list[tuple[str, str]]:
    return sorted(((str(FilterTerm(kind, code)), name) for code, name in names.items()), key=lambda one: one[1])


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


def origins_of(project: Project, image_ids: Iterable[int]) -> dict[int, ImageOrigin]:
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


def chosen_of(project: Project, image_ids: Iterable[int]) -> dict[int, SelectedImage]:
    """Return what each image was chosen for; an image is missing if no confirmed selection of the project has it.

    Where several have it, the selection that was confirmed last counts.
    """
    return {row.image_id or 0: row for row in _rows(project, image_ids)}


def _rows(project: Project, image_ids: Iterable[int]) -> Iterator[SelectedImage]:
    confirmed = Selection.objects.filter(project=project, confirmed_at__isnull=False)
    if not confirmed.exists():
        return
    rows = SelectedImage.objects.filter(selection__in=confirmed).select_related("selection")
    rows = rows.order_by("selection__confirmed_at", "selection__pk", "pk")
    ids = sorted(set(image_ids))
    for start in range(0, len(ids), AT_ONCE):
        yield from rows.filter(image__in=ids[start : start + AT_ONCE])
