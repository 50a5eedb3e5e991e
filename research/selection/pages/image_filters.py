"""The form that asks which images a page is about: `?images=`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.images.models import CollectionImage
from core.people.models import Project
from research.selection.models import PlaceLevelChoice
from research.selection.rules.image_filters import (
    ALL_IMAGES,
    FilterKind,
    FilterTerm,
    ImageFilter,
    ImageFilterError,
    parse,
)
from research.selection.selectors.subsets import check

T = TypeVar("T")
OFFERED = ("region", "country", "continent", "chosen", *(f"level:{level}" for level in PlaceLevelChoice.values))
"""Filters that the form offers in every project, after all images; those of subsets follow."""


@dataclass(frozen=True)
class AskedImages:
    """What the address asks for. With an `error` there are no figures to show, and `filter` is of all images.

    `left_out` counts images of the collections that the page is about which are left out of results.
    """

    filter: ImageFilter
    error: str
    choices: Sequence[tuple[str, str]]
    chosen: str
    left_out: int = 0

    @property
    def label(self) -> str:
        return dict(self.choices)[self.chosen]

    @property
    def is_all(self) -> bool:
        return self.filter.is_all

    @property
    def query(self) -> str:
        """The end of an address that asks for the same images: “?images=…”, or nothing."""
        return "" if self.filter.is_all else f"?{urlencode({'images': str(self.filter)})}"

    @property
    def status(self) -> int:
        """The HTTP status of the page."""
        return 422 if self.error else 200


def asked_images(
    query: Mapping[str, str], project: Project, *, collections: QuerySet[Any, Any] | Iterable[int] = ()
) -> AskedImages:
    """Read the parameter `images`, and offer what else there is. `collections` are those of the page's figures."""
    text, error = query.get("images", ""), ""
    try:
        filter = check(parse(text.replace("\0", "?")), project=project)
    except ImageFilterError as refused:
        filter, error = ALL_IMAGES, str(refused)
    left_out = CollectionImage.objects.left_out().filter(collection__in=collections).count()
    return AskedImages(filter, error, _choices(filter, project), str(filter), left_out)


def with_reason(asked: AskedImages, error: ImageFilterError) -> AskedImages:
    """Return what was asked with the reason why it cannot be applied, such as a language that the table lacks."""
    return replace(asked, filter=ALL_IMAGES, error=str(error))


def figures_over(asked: AskedImages, figures: Callable[[ImageFilter], T]) -> tuple[AskedImages, T]:
    """Compute figures over the images asked for; where the filter cannot be applied, over all, with the reason."""
    try:
        return asked, figures(asked.filter)
    except ImageFilterError as error:
        return with_reason(asked, error), figures(ALL_IMAGES)


def words_of(filter: ImageFilter, subsets: Mapping[str, str] | None = None) -> str:
    """Say what a filter leaves; `subsets` has names by slug."""
    return ", ".join(_words(term, subsets or {}) for term in filter.terms) or _("All images")


def _choices(filter: ImageFilter, project: Project) -> list[tuple[str, str]]:
    subsets = dict(project.subsets.order_by("name", "pk").values_list("slug", "name"))
    values = ["", *OFFERED, *(f"subset:{slug}" for slug in subsets)]
    if str(filter) not in values:
        values.append(str(filter))
    return [(value, words_of(parse(value), subsets)) for value in values]


def _words(term: FilterTerm, subsets: Mapping[str, str]) -> str:
    if term.kind is FilterKind.LEVEL:
        return _("Chosen from level: %(level)s") % {"level": PlaceLevelChoice(term.value).label}
    if term.kind is FilterKind.SUBSET:
        return _("Subset: %(name)s") % {"name": subsets.get(term.value, term.value)}
    if term.value:
        said = {
            FilterKind.CHOSEN: _("Chosen for %(value)s"),
            FilterKind.IN: _("Taken in %(value)s"),
            FilterKind.ON: _("Taken on continent %(value)s"),
        }
        return said[term.kind] % {"value": term.value}
    return {
        FilterKind.REGION: _("Taken where the language is spoken (region)"),
        FilterKind.COUNTRY: _("Taken in a country of the language"),
        FilterKind.CONTINENT: _("Taken on a continent of the language"),
        FilterKind.CHOSEN: _("Chosen for the language"),
    }[term.kind]
