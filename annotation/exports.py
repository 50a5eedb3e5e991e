"""The counted captions of a project's main rounds as files: one image after the other, in constant memory.

Order: collections by slug, images by their position, languages by tag, authors by pseudonym; so the same captions give
the same bytes whatever database they are in. What was handed in up to one moment is exported, hence a file is whole
even where people hand in more while it is being written, and no long transaction is needed for it. Late captions never
count and are left out.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.db.models import Q, QuerySet, TextChoices
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from annotation.models import Caption, Round, RoundKind
from corpus.models import CollectionImage
from corpus.rules.records import safe_cell
from people.models import Project

IMAGES_AT_ONCE = 100
PIECE_BYTES = 1 << 16
PSEUDONYM_DIGITS = 12
BYTE_ORDER_MARK = "\ufeff"
"""Without it spreadsheets take the file for Latin letters; Python reads it as `utf-8-sig`."""

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
        return "text/csv; charset=utf-8" if self is Layout.CSV else "application/jsonl; charset=utf-8"


@dataclass(frozen=True)
class ImageCaptions:
    """All captions of an image: for each language of the project, by tag, those of its authors, as `FIELDS` say."""

    key: str
    captions: Mapping[str, list[Mapping[str, Any]]]


def file_name(project: Project, layout: Layout, until: datetime) -> str:
    return f"{project.slug}-{layout}-{until.astimezone(UTC):%Y%m%d-%H%M}.{layout.suffix}"


def export_captions(project: Project, layout: Layout, *, until: datetime) -> Iterator[bytes]:
    """The file, piece by piece: the captions handed in up to and including `until`."""
    piece = bytearray()
    # For the sake of speed the rest is not read where it is not written.
    fields = ["text"] if layout is Layout.XM3600 else list(FIELDS.values())
    for line in WRITERS[layout](images_with_captions(project, fields, until=until)):
        piece += line.encode()
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def export_to_file(project: Project, layout: Layout, path: Path, *, until: datetime) -> None:
    """Write the whole file or none: an export that breaks off leaves what was at `path` before."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        unfinished = Path(file.name)
        try:
            file.writelines(export_captions(project, layout, until=until))
            file.flush()
            os.fsync(file.fileno())
            unfinished.chmod(0o666 & ~_umask())
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def pseudonym(project: Project, author_id: int) -> str:
    """How an author is called in exports: the same in one project, another in the next, no way back to the person.

    It hangs on SECRET_KEY and changes with it.
    """
    digest = salted_hmac("annotation.exports.pseudonym", f"{project.pk}:{author_id}", algorithm="sha256").hexdigest()
    # A letter first, so that no spreadsheet takes it for a number.
    return f"p{digest[:PSEUDONYM_DIGITS]}"


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
        counted = Caption.objects.filter(round__in=by_collection[collection], is_late=False, submitted_at__lte=until)
        for keys in _keys(collection.pk):
            yield from group(keys, counted)
        # An image may have been taken out of the collection after it was described.
        gone = counted.exclude(image__in=CollectionImage.objects.filter(collection=collection).values("image"))
        hashes = iter(gone.order_by("image__sha256").values_list("image", "image__sha256").distinct())
        while keys := dict(islice(hashes, IMAGES_AT_ONCE)):
            yield from group(keys, gone)


def _keys(collection_id: int) -> Iterator[dict[int, str]]:
    """Image to key, in the order of a collection, some at a time; each time a short query that holds nothing open."""
    entries = CollectionImage.objects.filter(collection=collection_id).order_by("position", "pk")
    entries = entries.only("pk", "position", "image_id", "key")
    chunk = list(entries[:IMAGES_AT_ONCE])
    while chunk:
        yield {entry.image_id: entry.key for entry in chunk}
        last = chunk[-1]
        beyond = Q(position__gt=last.position) | Q(position=last.position, pk__gt=last.pk)
        chunk = list(entries.filter(beyond)[:IMAGES_AT_ONCE])


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
    yield BYTE_ORDER_MARK + _csv_line(COLUMNS)
    for row in _rows(images):
        row["warnings"] = " ".join(row["warnings"])
        yield _csv_line(safe_cell("" if value is None else str(value)) for value in row.values())


def _rows(images: Iterable[ImageCaptions]) -> Iterator[dict[str, Any]]:
    for image in images:
        for tag, captions in image.captions.items():
            for caption in captions:
                row = {"image": image.key, "language": tag, "author": caption["author"]}
                for column, field in FIELDS.items():
                    value = caption[field]
                    row[column] = _as_iso(value) if isinstance(value, datetime) else value
                yield row


def _as_iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _csv_line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(cells)
    return line.getvalue()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


Writer = Callable[[Iterable[ImageCaptions]], Iterator[str]]
WRITERS: dict[Layout, Writer] = {Layout.XM3600: _as_xm3600, Layout.JSONL: _as_jsonl, Layout.CSV: _as_csv}
