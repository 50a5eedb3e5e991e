"""The counted captions of a project's main rounds as files: one image after the other, in constant memory.

Order: collections by slug, images by their position, languages by tag, authors by pseudonym; so the same captions give
the same bytes whatever database they are in. What was handed in up to one moment is exported, hence a file is whole
even where people hand in more while it is being written, and no long transaction is needed for it. Late captions never
count and are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache, partial
from json.encoder import encode_basestring as text
from operator import itemgetter
from pathlib import Path

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from annotation.models import Round, RoundKind
from annotation.selectors.caption_rows import (
    AUTHOR,
    FIRST_COLUMNS,
    LANGUAGE,
    POSITION,
    Row,
    counted_by_image,
    iso_of,
    list_of,
)
from people.models import Project
from people.rules.pseudonyms import pseudonym
from tabular.downloads import JSON_LINES_TYPE, in_pieces, stamp, write_whole
from tabular.spreadsheets import BYTE_ORDER_MARK, CSV_TYPE, csv_line

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
TEXT_ONLY = (FIELDS["caption"],)

_BY_AUTHOR = itemgetter(AUTHOR, POSITION)
_REST = len(FIRST_COLUMNS)


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
    """All captions of an image: for each language of the project, by tag, the rows that count, by author."""

    key: str
    captions: Mapping[str, list[Row]]


def file_name(project: Project, layout: Layout, until: datetime) -> str:
    return f"{project.slug}-{layout}-{stamp(until)}.{layout.suffix}"


def export_captions(project: Project, layout: Layout, *, until: datetime) -> Iterator[bytes]:
    """The file, piece by piece: the captions handed in up to and including `until`."""
    # For the sake of speed the rest is not read where it is not written.
    fields = TEXT_ONLY if layout is Layout.XM3600 else list(FIELDS.values())
    return in_pieces(WRITERS[layout](images_with_captions(project, fields, until=until)))


def export_to_file(project: Project, layout: Layout, path: Path, *, until: datetime) -> None:
    write_whole(path, export_captions(project, layout, until=until))


def images_with_captions(project: Project, fields: Sequence[str], *, until: datetime) -> Iterator[ImageCaptions]:
    """The images that have a caption, in order. All languages are there for each, some perhaps with an empty list.

    In each row the author is a pseudonym, None where the caption came from a file.
    """
    rounds = list(Round.objects.filter(project=project, kind=RoundKind.MAIN).select_related("collection"))
    tags = sorted({round.language_id for round in rounds})
    # A project has far fewer authors than captions.
    name_of = cache(partial(pseudonym, project))
    for images in counted_by_image(rounds, fields, until=until, at_once=IMAGES_AT_ONCE):
        for image, key in images.keys.items():
            if image in images.rows:
                found: dict[str, list[Row]] = {tag: [] for tag in tags}
                for row in sorted(_named(images.rows[image], name_of), key=_BY_AUTHOR):
                    found[row[LANGUAGE]].append(row)
                yield ImageCaptions(key, found)


def _named(rows: Iterable[Row], name_of: Callable[[int], str]) -> Iterator[Row]:
    for image, language, author, *rest in rows:
        yield image, language, "" if author is None else name_of(author), *rest


def _as_xm3600(images: Iterable[ImageCaptions]) -> Iterator[str]:
    """The layout of Crossmodal-3600. A language in which an image has no caption yet has an empty list."""
    for image in images:
        by_language = (
            f', {text(tag)}: {{"caption": [{", ".join([text(row[_REST]) for row in rows])}]}}'
            for tag, rows in image.captions.items()
        )
        yield f'{{"image/key": {text(image.key)}{"".join(by_language)}}}\n'


def _as_jsonl(images: Iterable[ImageCaptions]) -> Iterator[str]:
    """The same as `json.dumps` of each row would give, in a third of the time."""
    # An image's English caption and the names of models recur from row to row.
    of_english = lru_cache(maxsize=64)(_optional)
    for image in images:
        key, lines = text(image.key), []
        for tag, rows in image.captions.items():
            about = f'{{"image": {key}, "language": {text(tag)}, "author": '
            for row in rows:
                caption, typed, version, model, english, rating, warnings, rated, submitted, rating_ms, writing_ms = (
                    row[_REST:]
                )
                as_json = text(caption)
                lines.append(
                    f'{about}{_optional(row[AUTHOR] or None)}, "caption": {as_json}, "caption_as_typed": '
                    f'{as_json if typed == caption else text(typed)}, "guidelines_version": {version}, '
                    f'"english_model": {of_english(model)}, "english_caption": {of_english(english)}, '
                    f'"english_rating": {_optional(rating)}, "warnings": {_codes(warnings)}, '
                    f'"rated_at": {_optional(iso_of(rated))}, "submitted_at": "{iso_of(submitted)}", '
                    f'"rating_ms": {_number(rating_ms)}, "writing_ms": {_number(writing_ms)}}}\n'
                )
        yield "".join(lines)


def _as_csv(images: Iterable[ImageCaptions]) -> Iterator[str]:
    yield BYTE_ORDER_MARK + csv_line(COLUMNS)
    for image in images:
        for tag, rows in image.captions.items():
            for row in rows:
                values = dict(zip(FIELDS, row[_REST:], strict=True))
                values["warnings"] = " ".join(list_of(values["warnings"]))
                values |= {name: iso_of(values[name]) for name in ("rated_at", "submitted_at")}
                yield csv_line((image.key, tag, row[AUTHOR], *values.values()))


def _optional(value: str | None) -> str:
    return "null" if value is None else text(value)


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


@lru_cache(maxsize=1024)
def _codes(stored: str) -> str:
    return json.dumps(list_of(stored), ensure_ascii=False)


Writer = Callable[[Iterable[ImageCaptions]], Iterator[str]]
WRITERS: dict[Layout, Writer] = {Layout.XM3600: _as_xm3600, Layout.JSONL: _as_jsonl, Layout.CSV: _as_csv}
