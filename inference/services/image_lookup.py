"""Find the images that a file of captions names, many at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Exists, OuterRef, Q, QuerySet

from images.models import Collection, CollectionImage, Image
from inference.rules.captions import names_of


def images_named(
    references: Iterable[str], collection: Collection | None, *, among: QuerySet[Collection] | None = None
) -> dict[str, list[Image]]:
    """Find the images that each reference may mean: by key, else by file name, else by SHA-256.

    Looked for in `collection`, or in those `among` which it may be; in all there are where neither is said. One image
    is an answer; none is unknown; several are ambiguous.
    """
    names = {reference: names_of(reference) for reference in references}
    wanted = {name for several in names.values() for name in several}
    within = _within(collection, among)
    by_key, by_file = _entries(wanted, within)
    digests = [name.lower() for name in wanted if len(name) == 64]
    images = Image.objects.filter(sha256__in=digests)
    if within is not None:
        images = images.filter(Exists(within.filter(image=OuterRef("pk"))))
    by_digest = {image.sha256: {image.pk: image} for image in images}
    images_of: dict[str, list[Image]] = {}
    for reference, candidates in names.items():
        tables = [(by_key, candidates), (by_file, candidates[:2]), (by_digest, [name.lower() for name in candidates])]
        matches = (table[name] for table, several in tables for name in several if name in table)
        images_of[reference] = list(next(matches, {}).values())
    return images_of


def _within(collection: Collection | None, among: QuerySet[Collection] | None) -> QuerySet[CollectionImage] | None:
    if collection is not None:
        return CollectionImage.objects.filter(collection=collection)
    return None if among is None else CollectionImage.objects.filter(collection__in=among.values("pk"))


def _entries(names: set[str], within: QuerySet[CollectionImage] | None) -> tuple[dict[str, dict[int, Image]], ...]:
    entries = CollectionImage.objects.all() if within is None else within
    entries = entries.filter(Q(key__in=names) | Q(file_name__in=names)).select_related("image")
    by_key: dict[str, dict[int, Image]] = defaultdict(dict)
    by_file: dict[str, dict[int, Image]] = defaultdict(dict)
    for entry in entries:
        by_key[entry.key][entry.image_id] = entry.image
        by_file[entry.file_name][entry.image_id] = entry.image
    by_file.pop("", None)
    return dict(by_key), dict(by_file)
