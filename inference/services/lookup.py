"""Finding the images that a file of captions names, many at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Q

from corpus.models import Collection, CollectionImage, Image
from inference.rules.captions import names_of


def images_named(references: Iterable[str], collection: Collection | None) -> dict[str, list[Image]]:
    """The images each reference may mean: by key, else by file name, else by SHA-256.

    One image is an answer; none is unknown; several are ambiguous.
    """
    names = {reference: names_of(reference) for reference in references}
    wanted = {name for several in names.values() for name in several}
    by_key, by_file = _entries(wanted, collection)
    digests = [name.lower() for name in wanted if len(name) == 64]
    pictures = Image.objects.filter(sha256__in=digests)
    if collection is not None:
        pictures = pictures.filter(entries__collection=collection)
    by_digest = {image.sha256: {image.pk: image} for image in pictures}
    found: dict[str, list[Image]] = {}
    for reference, candidates in names.items():
        tables = [(by_key, candidates), (by_file, candidates[:2]), (by_digest, [name.lower() for name in candidates])]
        matches = (table[name] for table, several in tables for name in several if name in table)
        found[reference] = list(next(matches, {}).values())
    return found


def _entries(names: set[str], collection: Collection | None) -> tuple[dict[str, dict[int, Image]], ...]:
    entries = CollectionImage.objects.filter(Q(key__in=names) | Q(file_name__in=names)).select_related("image")
    if collection is not None:
        entries = entries.filter(collection=collection)
    by_key: dict[str, dict[int, Image]] = defaultdict(dict)
    by_file: dict[str, dict[int, Image]] = defaultdict(dict)
    for entry in entries:
        by_key[entry.key][entry.image_id] = entry.image
        by_file[entry.file_name][entry.image_id] = entry.image
    by_file.pop("", None)
    return dict(by_key), dict(by_file)
