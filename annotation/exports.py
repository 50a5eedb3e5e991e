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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from django.db.models import Q, TextChoices
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from annotation.models import Caption, Round, RoundKind
from corpus.models import CollectionImage
from people.models import Project

IMAGES_AT_ONCE = 100
PIECE_BYTES = 1 << 16
PSEUDONYM_DIGITS = 12
BYTE_ORDER_MARK = "\ufeff"
"""Without it spreadsheets take the file for Latin letters; Python reads it as `utf-8-sig`."""

COLUMNS = (
    "image", "language", "caption", "caption_as_typed", "author", "guidelines_version", "english_model",
    "english_caption", "english_rating", "warnings", "rated_at", "submitted_at", "rating_ms", "writing_ms",
)  # fmt: skip


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
    """All captions of an image: for each language of the project, by tag, those of its authors."""

    key: str
    captions: Mapping[str, list[Caption]]


def file_name(project: Project, layout: Layout, until: datetime) -> str:
    return f"{project.slug}-{layout}-{until.astimezone(UTC):%Y%m%d-%H%M}.{layout.suffix}"


def export_captions(project: Project, layout: Layout, *, until: datetime) -> Iterator[bytes]:
    """The file, piece by piece: the captions handed in up to and including `until`."""
    piece = bytearray()
    for line in WRITERS[layout](project, images_with_captions(project, until=until)):
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


def images_with_captions(project: Project, *, until: datetime) -> Iterator[ImageCaptions]:
    """The images that have a caption, in order. All languages are there for each, some perhaps with an empty list."""
    rounds = Round.objects.filter(project=project, kind=RoundKind.MAIN).select_related("collection")
    tags = sorted({round.language_id for round in rounds})
    by_collection = defaultdict(list)
    for round in rounds:
        by_collection[round.collection].append(round)
    for collection in sorted(by_collection, key=lambda collection: collection.slug):
        counted = Caption.objects.filter(round__in=by_collection[collection], is_late=False, submitted_at__lte=until)
        for keys in _keys(collection.pk):
            yield from _group(project, keys, counted.filter(image__in=keys), tags)
        # An image may have been taken out of the collection after it was described.
        gone = counted.exclude(image__in=CollectionImage.objects.filter(collection=collection).values("image"))
        hashes = iter(gone.order_by("image__sha256").values_list("image", "image__sha256").distinct())
        while keys := dict(islice(hashes, IMAGES_AT_ONCE)):
            yield from _group(project, keys, gone.filter(image__in=keys), tags)


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
    project: Project, keys: Mapping[int, str], captions: Iterable[Caption], tags: Iterable[str]
) -> Iterator[ImageCaptions]:
    by_image: dict[int, list[Caption]] = defaultdict(list)
    for caption in captions.select_related("round", "guidelines", "item__english__model"):  # type: ignore[attr-defined]
        by_image[caption.image_id].append(caption)
    for image_id, key in keys.items():
        if image_id in by_image:
            found: dict[str, list[Caption]] = {tag: [] for tag in tags}
            for caption in sorted(by_image[image_id], key=lambda caption: pseudonym(project, caption.author_id)):
                found[caption.round.language_id].append(caption)
            yield ImageCaptions(key, found)


def _as_xm3600(project: Project, images: Iterable[ImageCaptions]) -> Iterator[str]:
    """The layout of Crossmodal-3600. A language in which an image has no caption yet has an empty list."""
    for image in images:
        line: dict[str, Any] = {"image/key": image.key}
        for tag, captions in image.captions.items():
            line[tag] = {"caption": [caption.text for caption in captions]}
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _as_jsonl(project: Project, images: Iterable[ImageCaptions]) -> Iterator[str]:
    for row in _rows(project, images):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def _as_csv(project: Project, images: Iterable[ImageCaptions]) -> Iterator[str]:
    yield BYTE_ORDER_MARK + _csv_line(COLUMNS)
    for row in _rows(project, images):
        row["warnings"] = " ".join(row["warnings"])
        yield _csv_line(safe_cell("" if value is None else str(value)) for value in row.values())


def _rows(project: Project, images: Iterable[ImageCaptions]) -> Iterator[dict[str, Any]]:
    for image in images:
        for tag, captions in image.captions.items():
            for caption in captions:
                yield dict(zip(COLUMNS, _values(project, image.key, tag, caption), strict=True))


def _values(project: Project, key: str, tag: str, caption: Caption) -> tuple[Any, ...]:
    item = caption.item
    return (
        key,
        tag,
        caption.text,
        caption.text_as_typed,
        pseudonym(project, caption.author_id),
        caption.guidelines.version,
        item.english.model.name,
        item.english.text,
        item.rating,
        caption.warnings,
        _as_iso(item.rated_at),
        _as_iso(caption.submitted_at),
        item.rating_ms,
        item.writing_ms,
    )


def _as_iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _csv_line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(cells)
    return line.getvalue()


FORMULA_STARTS = frozenset("=+-@|%\t\r\n" + "＝＋－＠｜％" + "−﹢﹣﹦﹫")
QUOTE = "'"


def safe_cell(text: str) -> str:
    """`text` as no spreadsheet takes it for a formula: with an apostrophe in front where it might be one.

    One is also put before an apostrophe, so that `plain_cell` gets every text back.
    """
    # Spreadsheets may skip spaces and invisible characters before they look.
    start = next((character for character in text if not _is_skipped(character)), "")
    return QUOTE + text if start in FORMULA_STARTS or text.startswith(QUOTE) else text


def plain_cell(cell: str) -> str:
    """What `safe_cell` was given."""
    return cell.removeprefix(QUOTE)


def _is_skipped(character: str) -> bool:
    return character not in FORMULA_STARTS and (character.isspace() or not character.isprintable())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


Writer = Callable[[Project, Iterable[ImageCaptions]], Iterator[str]]
WRITERS: dict[Layout, Writer] = {Layout.XM3600: _as_xm3600, Layout.JSONL: _as_jsonl, Layout.CSV: _as_csv}
