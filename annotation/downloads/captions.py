"""The counted captions of a project's main rounds as files: one image after the other, in constant memory.

Order: collections by slug, images by their position, languages by tag, authors by pseudonym; so the same captions give
the same bytes whatever database they are in. What was handed in up to one moment is exported, hence a file is whole
even where people hand in more while it is being written, and no long transaction is needed for it. Late captions never
count and are left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.db.models import QuerySet, TextChoices
from django.utils.translation import gettext_lazy as _

from annotation.models import Caption, Round, RoundKind
from corpus.models import CollectionImage
from corpus.rules.downloads import (
    BYTE_ORDER_MARK,
    CSV_TYPE,
    JSON_LINES_TYPE,
    as_iso,
    csv_line,
    in_pieces,
    stamp,
    write_whole,
)
from corpus.selectors import keys_in_order
from people.models import Project
from people.pseudonyms import pseudonym

IMAGES_AT_ONCE = 100

FIELDS = {
    "caption": "text",
    "caption_as_typed": "text_as_typed",
    "guidelines_version": "guidelines__version",
    "english_model": "item__english__model__name",
    "english_caption": "item__english__text",
    "english_rating": "item__rating",
    "warnings": "warnings",
    "rated_at": "item__rated_at",
    "submitted_at": "submitted_at",
    "rating_ms": "item__rating_ms",
    "writing_ms": "item__writing_ms",
}
"""Columns of a row that are read as they are, and where from."""
COLUMNS = ("image", "language", "author", *FIELDS)


class Layout(TextChoices):
    XM3600 = "xm3600", _("Crossmodal-3600 (JSON Lines)")
    JSONL = "jsonl", _("one row per caption (JSON Lines)")
    CSV = "csv", _("one row per caption (CSV)")

    @property
    def suffix(self) -> str:
        return "csv" if self is Layout.CSV else "jsonl"

    @property
    def content_type(self) -> str:
        return CSV_TYPE if self is Layout.CSV else JSON_LINES_TYPE


@dataclass(frozen=True)
class ImageCaptions:
    """All captions of an image: for each language of the project, by tag, those of its authors, as `FIELDS` say."""

    key: str
    captions: Mapping[str, list[Mapping[str, Any]]]


def file_name(project: Project, layout: Layout, until: datetime) -> str:
    return f"{project.slug}-{layout}-{stamp(until)}.{layout.suffix}"


def export_captions(project: Project, layout: Layout, *, until: datetime) -> Iterator[bytes]:
    """The file, piece by piece: the captions handed in up to and including `until`."""
    # For the sake of speed the rest is not read where it is not written.
    fields = ["text"] if layout is Layout.XM3600 else list(FIELDS.values())
    return in_pieces(WRITERS[layout](images_with_captions(project, fields, until=until)))


def export_to_file(project: Project, layout: Layout, path: Path, *, until: datetime) -> None:
    write_whole(path, export_captions(project, layout, until=until))


def images_with_captions(project: Project, fields: Sequence[str], *, until: datetime) -> Iterator[ImageCaptions]:
    """The images that have a caption, in order. All languages are there for each, some perhaps with an empty list."""
    rounds = Round.objects.filter(project=project, kind=RoundKind.MAIN).select_related("collection")
    tags = sorted({round.language_id for round in rounds})
    # A project has far fewer authors than captions.
    group = partial(_group, tags=tags, fields=fields, author_of=cache(partial(pseudonym, project)))
    by_collection = defaultdict(list)
    for round in rounds:
        by_collection[round.collection].append(round)
    for collection in sorted(by_collection, key=lambda collection: collection.slug):
        counted = Caption.objects.counted().filter(round__in=by_collection[collection], submitted_at__lte=until)
        for keys in keys_in_order(collection.pk, at_once=IMAGES_AT_ONCE):
            yield from group(keys, counted)
        # An image may have been taken out of the collection after it was described.
        gone = counted.exclude(image__in=CollectionImage.objects.filter(collection=collection).values("image"))
        hashes = iter(gone.order_by("image__sha256").values_list("image", "image__sha256").distinct())
        while keys := dict(islice(hashes, IMAGES_AT_ONCE)):
            yield from group(keys, gone)


def _group(
    keys: Mapping[int, str],
    captions: QuerySet[Caption],
    *,
    tags: Iterable[str],
    fields: Sequence[str],
    author_of: Callable[[int], str],
) -> Iterator[ImageCaptions]:
    by_image: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for caption in captions.filter(image__in=keys).values("image", "round__language", "author", *fields):
        by_image[caption["image"]].append(caption | {"author": author_of(caption["author"])})
    for image_id, key in keys.items():
        if image_id in by_image:
            found: dict[str, list[Mapping[str, Any]]] = {tag: [] for tag in tags}
            for caption in sorted(by_image[image_id], key=itemgetter("author")):
                found[caption["round__language"]].append(caption)
            yield ImageCaptions(key, found)


def _as_xm3600(images: Iterable[ImageCaptions]) -> Iterator[str]:
    """The layout of Crossmodal-3600. A language in which an image has no caption yet has an empty list."""
    for image in images:
        line: dict[str, Any] = {"image/key": image.key}
        for tag, captions in image.captions.items():
            line[tag] = {"caption": [caption["text"] for caption in captions]}
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _as_jsonl(images: Iterable[ImageCaptions]) -> Iterator[str]:
    for row in _rows(images):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def _as_csv(images: Iterable[ImageCaptions]) -> Iterator[str]:
    yield BYTE_ORDER_MARK + csv_line(COLUMNS)
    for row in _rows(images):
        row["warnings"] = " ".join(row["warnings"])
        yield csv_line(row.values())


def _rows(images: Iterable[ImageCaptions]) -> Iterator[dict[str, Any]]:
    for image in images:
        for tag, captions in image.captions.items():
            for caption in captions:
                row = {"image": image.key, "language": tag, "author": caption["author"]}
                for column, field in FIELDS.items():
                    value = caption[field]
                    row[column] = as_iso(value) if isinstance(value, datetime) else value
                yield row


Writer = Callable[[Iterable[ImageCaptions]], Iterator[str]]
WRITERS: dict[Layout, Writer] = {Layout.XM3600: _as_xm3600, Layout.JSONL: _as_jsonl, Layout.CSV: _as_csv}
