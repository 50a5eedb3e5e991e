"""Find images in a collection: by words, licence, import, and by filters that the apps above register.

The apps above know where images were taken and what models wrote about them. Each registers a filter here when it is
ready, and the collection's page, its bulk edit and its addresses offer all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from django.core.cache import cache
from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet

from core.images.models import Collection, CollectionImage, ImportRow
from core.images.selectors.attributions import lacks_author, lacks_licence
from core.people.models import User

NONE, NO_AUTHOR, IS = "none", "no-author", "is:"
"""Values of the filter by licence; `IS` is followed by a licence."""

MAX_LICENCES = 100
LARGE = 10_000
KEPT_S = 60
MAX_WORDS = 8
PLACES_OF_WORDS = ("key", "file_name", "image__title", "image__author")

T = TypeVar("T")
Choices = Sequence[tuple[str, Any]]
"""Values and labels; in place of a label, a group has its choices."""


class FilterError(ValueError):
    """The value is none of this filter; the message says what to do."""


@dataclass(frozen=True)
class ImagesFilter:
    """A filter of another app: its parameter in the address, and what it offers and does.

    `choices` gets the value asked for, which may be none of the usual ones. `condition` is on entries of a collection,
    and may raise `FilterError`.
    """

    name: str
    label: Any
    choices: Callable[[Collection, User, str], Choices]
    condition: Callable[[Collection, User, str], Q]


_registered: dict[str, ImagesFilter] = {}


def register(filter: ImagesFilter) -> None:
    """Register a filter; call it when the app is ready."""
    _registered[filter.name] = filter


def registered() -> Sequence[ImagesFilter]:
    return list(_registered.values())


def parameters() -> Sequence[str]:
    """Name the parameters of the address that say what to find."""
    return ["find", "licence", "import", *_registered]


def licences_in(collection: Collection) -> list[str]:
    """List the licences of a collection's images."""
    licences = collection.entries.order_by("image__licence").values_list("image__licence", flat=True)
    licences = licences.exclude(image__licence="").distinct()[:MAX_LICENCES]
    return filter_choices("licences", collection, lambda: list(licences))


def filter_choices(name: str, collection: Collection, find: Callable[[], T]) -> T:
    """Find what a filter offers; for a large collection it is kept for a minute, as every page would look for it."""
    if not collection.entries.order_by().values("pk")[LARGE : LARGE + 1]:
        return find()
    return cast("T", cache.get_or_set(f"images.{name}.{collection.pk}", find, KEPT_S))


def matching_entries(collection: Collection, viewer: User, asked: Mapping[str, str]) -> QuerySet[CollectionImage]:
    """Return the entries that match all that is asked for, without an order.

    Raises
    ------
    FilterError
    """
    entries = collection.entries.order_by()
    for word in asked.get("find", "").split()[:MAX_WORDS]:
        condition = Q()
        for place in PLACES_OF_WORDS:
            condition |= Q(**{f"{place}__icontains": word})
        entries = entries.filter(condition)
    if licence := asked.get("licence", ""):
        entries = entries.filter(_of_licence(licence))
    if job := asked.get("import", ""):
        of_import = ImportRow.objects.filter(job=int(job), job__collection=collection, image__isnull=False)
        entries = entries.filter(image__in=of_import.values("image"))
    for filter in registered():
        if value := asked.get(filter.name, ""):
            entries = entries.filter(filter.condition(collection, viewer, value))
    return entries


def entries_page(entries: QuerySet[CollectionImage], *, number: str | None, per_page: int) -> Page[Any]:
    """Return a page of entries in their order, with their images.

    Only keys are sorted and skipped, so that the last page comes as fast as the first.
    """
    keys = entries.order_by("position", "pk").values_list("pk", flat=True)
    if (number or "1") == "1":
        # Where they all fit on the first page, nothing more need be counted.
        first = list(keys[: per_page + 1])
        page: Page[Any] = Paginator(first if len(first) <= per_page else keys, per_page).get_page(1)
        page.object_list = first[:per_page]
    else:
        page = Paginator(keys, per_page).get_page(number)
    chosen = CollectionImage.objects.filter(pk__in=list(page.object_list)).select_related("image")
    page.object_list = list(chosen.order_by("position", "pk"))
    return page


def _of_licence(value: str) -> Q:
    if value == NONE:
        return lacks_licence("image__")
    if value == NO_AUTHOR:
        return lacks_author("image__")
    return Q(image__licence=value.removeprefix(IS))
