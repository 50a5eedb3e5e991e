"""Find images: in a collection by words, licence, import and further filters, and anywhere by what files call them.

The apps above know where images were taken and what models wrote about them. Each registers a filter here when it is
ready, and the collection's page, its bulk edit and its addresses offer all of them. `crosslens_metrics.formats.names`
has the rule for names.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

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
MANY_NAMES, ENTRIES_PER_NAME, MAX_KEPT = 500, 50, 185_000
"""To read all entries is quicker where so many names are asked for and there are so few entries for each of them. An
entry takes half a kilobyte, and each further name, which counts as half an entry, a quarter."""
READ_AGAIN = 4
"""All entries are read again when so many times as many names were unknown as the time before."""
NAMES_AT_ONCE = 2_000
"""As many are looked up among entries that were read."""


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


class _NamedEntry(NamedTuple):
    """What an image is called in a collection, which is said by its name."""

    pk: int
    image: int
    key: str
    file_name: str
    collection: str


@dataclass(frozen=True)
class _NamedEntries:
    """Entries by primary key, their further names, and by name the first of them and the others.

    Most names are one entry's: lists of one would take a fourth of the memory.
    """

    entries: dict[int, _NamedEntry]
    further: dict[int, list[str]]
    first: dict[str, int]
    others: dict[str, list[int]]

    def add(self, name: str, pk: int) -> None:
        if self.first.setdefault(name, pk) != pk:
            self.others[name].append(pk)

    def names(self, pk: int) -> list[str]:
        """The key, further names, and the file's name, unless one of those says in which folder it is."""
        entry, more = self.entries[pk], self.further.get(pk, ())
        has_file_name = entry.file_name and not any(name.endswith(f"/{entry.file_name}") for name in more)
        return [entry.key, *more, *([entry.file_name] if has_file_name else [])]

    def called(self, *names: str) -> list[int]:
        known = [name for name in names if name in self.first]
        return sorted({pk for name in known for pk in (self.first[name], *self.others.get(name, ()))})

    def nearest(self, reference: str, candidates: Sequence[int]) -> list[_NamedEntry]:
        """One entry of each image that the reference may mean."""
        entries = self.entries
        by_key = dict.fromkeys(entries[pk].image for pk in candidates if entries[pk].key == reference)
        nearest = [*by_key] or closest(
            reference, [(name, entries[pk].image) for pk in candidates for name in self.names(pk)]
        )
        of_image = {entries[pk].image: entries[pk] for pk in reversed(candidates)}
        return [of_image[image] for image in nearest]


class ImageSearch:
    """Finds the images that names in files may mean: by one of the image's names, else by SHA-256.

    Looked for in `collection`, or in those `among` which it may be; in all there are where neither is said. The
    database is asked for all spellings of a few names. Of 82,778 numbers that took 84 s, so once many were asked for,
    the names of all entries are read and kept, and the same spellings are looked up there: 5 s. What is found there is
    found only if it still has its names, and what is not is looked for again (`_found_since`). `after_each` is called
    after some names at a time. The `images` may do without the columns that nobody will ask for.
    """

    def __init__(
        self,
        collection: Collection | None,
        *,
        among: QuerySet[Collection] | None = None,
        images: QuerySet[Image] | None = None,
        after_each: Callable[[], None] = lambda: None,
    ) -> None:
        self.within, self.after_each = _within(collection, among), after_each
        self.is_anywhere = collection is None and among is None
        self.images = Image.objects.all() if images is None else images
        self.asked = self.unknown = self.unknown_to_read_again = 0
        self.all: _NamedEntries | None = None

    def named(self, references: Iterable[str]) -> dict[str, NamedImages]:
        """Find the images that each reference may mean."""
        wanted = list(dict.fromkeys(references))
        self.asked += len(wanted)
        were_read = self.all is not None
        if not were_read and self._are_few():
            self.all = _named_entries(self.within, are_all=True)
        found = self._found(wanted, self.all)
        if were_read:
            found |= self._found_since([name for name in wanted if not found[name].images])
        return found

    def of_names(self, several: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], NamedImages]:
        """As `named`, where each image has several names, the likeliest first.

        The others are looked for only where the one before is unknown.
        """
        left, found = list(dict.fromkeys(several)), dict[tuple[str, ...], NamedImages]()
        for place in range(max(map(len, left), default=0)):
            known = self.named(names[place] for names in left if place < len(names))
            for names in left:
                if place < len(names) and (not place or known[names[place]].images):
                    found[names] = known[names[place]]
            left = [names for names in left if not found[names].images]
        return found

    @cached_property
    def _size(self) -> int:
        """How many entries there are, and half their further names, if they are not too many to be kept."""
        entries = self.within.order_by().values("pk")
        further = ImageName.objects.filter(entry__in=entries).order_by().values("pk")
        return entries[: MAX_KEPT + 1].count() + further[: 2 * MAX_KEPT + 2].count() // 2

    def _are_few(self) -> bool:
        """Whether the entries are so few that it is quicker to read them all."""
        return self.asked >= MANY_NAMES and self._size <= min(self.asked * ENTRIES_PER_NAME, MAX_KEPT)

    def _found(self, wanted: Sequence[str], kept: _NamedEntries | None) -> dict[str, NamedImages]:
        """Find them among the entries that were kept, else in the database."""
        found: dict[str, NamedImages] = {}
        for some in _parted(wanted, NAMES_AT_ONCE if kept else EQUAL_NAMES_PER_QUERY):
            found |= self._equally_named(some, kept)
            self.after_each()
        left = [name for name in wanted if name not in found]
        for some in _parted(left, NAMES_AT_ONCE if kept else NAMES_PER_QUERY):
            found |= self._otherwise_named(some, kept)
            self.after_each()
        return {name: found[name] for name in wanted}

    def _found_since(self, unknown: Sequence[str]) -> dict[str, NamedImages]:
        """Look again for what is unknown: it may have come, or be called so, since all entries were read.

        The database is asked for the first of them. A file may name many images that are nowhere, so for more of them
        all entries are read again, and the less often the more there are.
        """
        self.unknown += len(unknown)
        if self.unknown <= MANY_NAMES:
            return self._found(unknown, None)
        if self.unknown < self.unknown_to_read_again:
            return {}
        self.unknown_to_read_again = self.unknown * READ_AGAIN
        self.all = None  # Two at a time would take twice the memory.
        self.all = _named_entries(self.within, are_all=True)
        return self._found(unknown, self.all)

    def _called(self, names: Iterable[str], kept: _NamedEntries | None) -> _NamedEntries:
        """The entries of these names, or all that are kept."""
        if kept is not None:
            return kept
        names = set(names)
        # By number: with a query in its place, no database would use the indexes of the other two.
        named_too = list(ImageName.objects.filter(name__in=names).values_list("entry", flat=True))
        entries = self.within.filter(Q(key__in=names) | Q(file_name__in=names) | Q(pk__in=named_too))
        return _named_entries(entries)

    def _equally_named(self, references: Sequence[str], kept: _NamedEntries | None) -> dict[str, NamedImages]:
        """Those that are spelt as an image's name is, which no other spelling is nearer to: a tenth of the time."""
        named = self._called(references, kept)
        nearest = {}
        for reference in references:
            candidates = named.called(reference)
            if any(reference in named.names(pk) for pk in candidates):
                nearest[reference] = named.nearest(reference, candidates)
        return self._with_images(nearest, kept)

    def _otherwise_named(self, references: Sequence[str], kept: _NamedEntries | None) -> dict[str, NamedImages]:
        spelt = {reference: spellings(reference) for reference in references}
        named = self._called((name for several in spelt.values() for name in several), kept)
        nearest = {reference: named.nearest(reference, named.called(*several)) for reference, several in spelt.items()}
        found = self._with_images(nearest, kept)
        unknown = {reference: several for reference, several in spelt.items() if not found[reference].images}
        by_digest = _by_digest(unknown, None if self.is_anywhere else self.within)
        by_address = _by_address(unknown, self.within)
        for reference, several in unknown.items():
            image = next((by_digest[name.lower()] for name in several if name.lower() in by_digest), None)
            if (image := image or by_address.get(reference)) is not None:
                found[reference] = NamedImages(reference, (image,), (reference,))
        return found

    def _with_images(
        self, nearest: Mapping[str, Sequence[_NamedEntry]], kept: _NamedEntries | None
    ) -> dict[str, NamedImages]:
        entries = {entry for several in nearest.values() for entry in several}
        if kept is not None:
            entries &= self._still_there(entries)
        images = self.images.in_bulk({entry.image for entry in entries})
        found = {}
        for reference, several in nearest.items():
            there = [entry for entry in several if entry in entries and entry.image in images]
            keys = tuple(f"“{entry.key}” ({entry.collection})" for entry in there)
            found[reference] = NamedImages(reference, tuple(images[entry.image] for entry in there), keys)
        return found

    def _still_there(self, entries: Iterable[_NamedEntry]) -> set[_NamedEntry]:
        """Those that have neither gone nor got another name since they were read."""
        by_pk = {entry.pk: entry for entry in entries}
        return {
            by_pk[row[0]]
            for some in _parted(list(by_pk), EQUAL_NAMES_PER_QUERY)
            for row in self.within.order_by().filter(pk__in=some).values_list("pk", "image", "key", "file_name")
            if row == by_pk[row[0]][:4]
        }


def images_named(
    references: Iterable[str], collection: Collection | None, *, among: QuerySet[Collection] | None = None
) -> dict[str, NamedImages]:
    """Find the images that each reference may mean, as `ImageSearch` does."""
    return ImageSearch(collection, among=among).named(references)


def _named_entries(rows: QuerySet[CollectionImage], *, are_all: bool = False) -> _NamedEntries:
    named = _NamedEntries({}, defaultdict(list), {}, defaultdict(list))
    columns = rows.order_by().values_list("pk", "image", "key", "file_name", "collection__name")
    for pk, image, key, file_name, collection in columns:
        named.entries[pk] = _NamedEntry(pk, image, key, file_name, sys.intern(collection))
        named.add(key, pk)
        if file_name:
            named.add(file_name, pk)
    of_rows = ImageName.objects.filter(Q(entry__in=rows.values("pk")) if are_all else Q(entry__in=list(named.entries)))
    for pk, name in of_rows.order_by("pk").values_list("entry", "name"):
        if pk in named.entries:
            named.further[pk].append(name)
            named.add(name, pk)
    return named


def _parted(names: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (names[start : start + size] for start in range(0, len(names), size))


def _within(collection: Collection | None, among: QuerySet[Collection] | None) -> QuerySet[CollectionImage]:
    entries = CollectionImage.objects.all()
    if collection is not None:
        return entries.filter(collection=collection)
    return entries if among is None else entries.filter(collection__in=among.values("pk"))


def _by_address(references: Iterable[str], within: QuerySet[CollectionImage]) -> dict[str, Image]:
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
