"""Where images were taken: as a filter of a collection, and on an image's page. Names only, never coordinates."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Q
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage
from core.images.selectors.filters import Choices, FilterError, filter_choices
from core.images.selectors.image_pages import PageSection
from core.people.models import User
from geography import codes
from research.selection.models import ImagePlace
from research.selection.rules.image_filters import FilterKind, FilterTerm, ImageFilterError, parse
from research.selection.selectors.image_places import placed_images
from research.selection.selectors.subsets import taken_in

UNKNOWN = "unknown"
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
    other = [(asked, asked)] if asked not in known | {"", UNKNOWN} and _term(asked) else []
    return [(UNKNOWN, _("not known")), *other, *((name, terms) for name, terms in groups if terms)]


def place_condition(collection: Collection, viewer: User, asked: str) -> Q:
    """
    Raises
    ------
    FilterError
    """
    if asked == UNKNOWN:
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
