"""Find images: in a collection by words, licence, import and further filters, and anywhere by what files call them.

The apps above know where images were taken and what models wrote about them. Each registers a filter here when it is
ready, and the collection's page, its bulk edit and its addresses offer all of them. `crosslens_metrics.formats.names`
has the rule for names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar, cast

from django.core.cache import cache
from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage, Image, ImageName, ImportRow
from core.images.selectors.attributions import lacks_author, lacks_licence
from core.people.models import User
from crosslens_metrics.formats.names import closest, spellings

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

    Raises FilterError.
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


SHA256_CHARACTERS = 64
MAX_NAMED = 3
NAMES_PER_QUERY = 150
"""Each has up to a hundred spellings, asked of two columns; SQLite takes 32,766 values in a query as it is built."""
EQUAL_NAMES_PER_QUERY = 5_000


@dataclass(frozen=True)
class NamedImages:
    """The images that a name may mean, and their keys with their collections; one is an answer."""

    name: str
    images: tuple[Image, ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def only(self) -> Image | None:
        return self.images[0] if len(self.images) == 1 else None

    @property
    def problem(self) -> str:
        """Why it is no answer, for who gave the name; empty if it is one."""
        if not self.images:
            message = _(
                "No image has the key, file name or SHA-256 “%(name)s”. Check the spelling, or import the image."
            )
            return message % {"name": self.name}
        if len(self.images) == 1:
            return ""
        message = _(
            "“%(name)s” may be any of %(count)s images: %(keys)s. Name the collection, or the key of one of them."
        )
        keys = ", ".join(self.keys[:MAX_NAMED]) + (", …" if len(self.keys) > MAX_NAMED else "")
        return message % {"name": self.name, "count": len(self.images), "keys": keys}


def images_named(
    references: Iterable[str], collection: Collection | None, *, among: QuerySet[Collection] | None = None
) -> dict[str, NamedImages]:
    """Find the images that each reference may mean: by one of the image's names, else by SHA-256.

    Looked for in `collection`, or in those `among` which it may be; in all there are where neither is said.
    """
    within, wanted = _within(collection, among), list(dict.fromkeys(references))
    found: dict[str, NamedImages] = {}
    for start in range(0, len(wanted), EQUAL_NAMES_PER_QUERY):
        found |= _equally_named(wanted[start : start + EQUAL_NAMES_PER_QUERY], within)
    left = iter([name for name in wanted if name not in found])
    digests_of = None if collection is None and among is None else within
    while some := list(islice(left, NAMES_PER_QUERY)):
        found |= _otherwise_named(some, within, digests_of)
    return {name: found[name] for name in wanted}


def images_of_names(
    several: Iterable[tuple[str, ...]], collection: Collection | None, *, among: QuerySet[Collection] | None = None
) -> dict[tuple[str, ...], NamedImages]:
    """As `images_named`, where each image has several names, the likeliest first.

    The others are looked for only where the one before is unknown.
    """
    left, found = list(dict.fromkeys(several)), dict[tuple[str, ...], NamedImages]()
    for place in range(max(map(len, left), default=0)):
        known = images_named((names[place] for names in left if place < len(names)), collection, among=among)
        for names in left:
            if place < len(names) and (not place or known[names[place]].images):
                found[names] = known[names[place]]
        left = [names for names in left if not found[names].images]
    return found


@dataclass(frozen=True)
class _NamedEntries:
    """Entries by primary key, their names, and those by each name."""

    entries: Mapping[int, CollectionImage]
    names: Mapping[int, list[str]]
    by_name: Mapping[str, set[int]]

    def nearest(self, reference: str, candidates: Sequence[int]) -> NamedImages:
        entries = self.entries
        by_key = dict.fromkeys(entries[pk].image_id for pk in candidates if entries[pk].key == reference)
        nearest = [*by_key] or closest(
            reference, [(name, entries[pk].image_id) for pk in candidates for name in self.names[pk]]
        )
        of_image = {entries[pk].image_id: entries[pk] for pk in sorted(candidates, reverse=True)}
        matches = [of_image[image] for image in nearest]
        keys = tuple(f"“{entry.key}” ({entry.collection.name})" for entry in matches)
        return NamedImages(reference, tuple(entry.image for entry in matches), keys)


def _named_entries(names: set[str], within: QuerySet[CollectionImage]) -> _NamedEntries:
    entries = _entries(names, within)
    further = defaultdict(list)
    # Not prefetched: a manager for each entry takes longer than all the rest.
    for pk, name in ImageName.objects.filter(entry__in=entries).values_list("entry", "name"):
        further[pk].append(name)
    names_of = {entry.pk: list(_names(entry, further.get(entry.pk, ()))) for entry in entries.values()}
    by_name = defaultdict(set)
    for pk, several in names_of.items():
        for name in (*several, entries[pk].file_name):
            by_name[name].add(pk)
    return _NamedEntries(entries, names_of, by_name)


def _equally_named(references: list[str], within: QuerySet[CollectionImage]) -> dict[str, NamedImages]:
    """Those that are spelt as an image's name is, which no other spelling is nearer to: a tenth of the time."""
    named = _named_entries(set(references), within)
    found = {}
    for reference in references:
        candidates = sorted(named.by_name.get(reference, ()))
        if any(reference in named.names[pk] for pk in candidates):
            found[reference] = named.nearest(reference, candidates)
    return found


def _otherwise_named(
    references: list[str], within: QuerySet[CollectionImage], digests_of: QuerySet[CollectionImage] | None
) -> dict[str, NamedImages]:
    spelt = {reference: spellings(reference) for reference in references}
    named = _named_entries({name for several in spelt.values() for name in several}, within)
    by_digest, by_address = _by_digest(spelt, digests_of), _by_address(references, within)
    found = {}
    for reference, several in spelt.items():
        candidates = sorted({pk for name in several for pk in named.by_name.get(name, ())})
        found[reference] = named.nearest(reference, candidates)
        image = next((by_digest[name.lower()] for name in several if name.lower() in by_digest), None)
        image = image or by_address.get(reference)
        if not found[reference].images and image is not None:
            found[reference] = NamedImages(reference, (image,), (reference,))
    return found


def _within(collection: Collection | None, among: QuerySet[Collection] | None) -> QuerySet[CollectionImage]:
    entries = CollectionImage.objects.all()
    if collection is not None:
        return entries.filter(collection=collection)
    return entries if among is None else entries.filter(collection__in=among.values("pk"))


def _entries(names: set[str], within: QuerySet[CollectionImage]) -> dict[int, CollectionImage]:
    # By number: with a query in its place, no database would use the indexes of the other two.
    named_too = list(ImageName.objects.filter(name__in=names).values_list("entry", flat=True))
    entries = within.filter(Q(key__in=names) | Q(file_name__in=names) | Q(pk__in=named_too))
    return entries.select_related("image").prefetch_related("collection").in_bulk()


def _names(entry: CollectionImage, more: Sequence[str]) -> Iterator[str]:
    """The key, further names, and the file's name, unless one of those says in which folder it is."""
    yield entry.key
    yield from more
    if entry.file_name and not any(name.endswith(f"/{entry.file_name}") for name in more):
        yield entry.file_name


def _by_address(references: list[str], within: QuerySet[CollectionImage]) -> dict[str, Image]:
    """Images by the address that they come from, as a name has it: with one slash after the scheme."""
    addresses = {one.replace(":/", "://", 1): one for one in references if one.startswith(("http:/", "https:/"))}
    entries = within.filter(image__source__in=list(addresses)) if addresses else within.none()
    return {addresses[entry.image.source]: entry.image for entry in entries.select_related("image")}


def _by_digest(spelt: Mapping[str, list[str]], within: QuerySet[CollectionImage] | None) -> dict[str, Image]:
    digests = {name.lower() for several in spelt.values() for name in several if len(name) == SHA256_CHARACTERS}
    images = Image.objects.filter(sha256__in=digests) if digests else Image.objects.none()
    if within is not None:
        images = images.filter(Exists(within.filter(image=OuterRef("pk"))))
    return {image.sha256: image for image in images}
