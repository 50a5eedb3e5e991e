"""Files of the captions that count in a project's main rounds, image by image, in constant memory.

Order: collections by slug, images by position, languages by tag, authors by pseudonym. So the same captions give the
same bytes from any database. A file holds what was submitted up to one moment: it is complete even if people submit
while it is being written, without a long transaction. Late captions never count and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from operator import itemgetter
from typing import Any

from django.db.models import Q

from annotation.models import Round, RoundKind
from annotation.selectors.caption_rows import (
    AUTHOR,
    FIRST_COLUMNS,
    LANGUAGE,
    POSITION,
    Row,
    captions_within,
    counted_by_image,
    iso_of,
    list_of,
)
from core.images.models import is_left_out
from core.people.models import Project
from core.people.rules.pseudonyms import pseudonym
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from research.selection.selectors.image_places import ORIGIN_COLUMNS, UNKNOWN, ImageOrigin, origins_of
from tabular.downloads import json_line

IMAGES_AT_ONCE = 100

CAPTION_COLUMNS: Mapping[str, tuple[str, Callable[[Any], Any] | None]] = {
    "caption": ("text", None),
    "caption_as_typed": ("text_as_typed", None),
    "guidelines_version": ("guidelines__version", None),
    "guidelines_language": ("item__batch__guidelines_language", None),
    "guidelines_revision": ("item__batch__rating_translation__revision", None),
    "writing_language": ("item__batch__writing_translation__language", lambda tag: tag or ""),
    "writing_revision": ("item__batch__writing_translation__revision", None),
    "english_model": ("item__english__model__name", None),
    "english_caption": ("item__english__text", None),
    "english_rating": ("item__rating", None),
    "warnings": ("warnings", list_of),
    "rated_at": ("item__rated_at", iso_of),
    "submitted_at": ("submitted_at", iso_of),
    "rating_ms": ("item__rating_ms", None),
    "writing_ms": ("item__writing_ms", None),
}
"""Columns that are read from a caption: their source, and how to convert the stored value."""
COLUMNS = ("image", "language", "author", *CAPTION_COLUMNS, *ORIGIN_COLUMNS)
_CONVERTED = [(place, read) for place, (_stored, read) in enumerate(CAPTION_COLUMNS.values()) if read is not None]

_BY_AUTHOR = itemgetter(AUTHOR, POSITION)
_REST = len(FIRST_COLUMNS)


@dataclass(frozen=True)
class ImageCaptions:
    """All captions of an image: for each language of the project, by tag, the rows that count, by author."""

    key: str
    captions: Mapping[str, list[Row]]
    origin: ImageOrigin

    @property
    def texts(self) -> dict[str, list[str]]:
        """By language, where only texts were read."""
        return {tag: [row[_REST] for row in rows] for tag, rows in self.captions.items()}


def caption_rows(
    project: Project, *, until: datetime, images: ImageFilter = ALL_IMAGES, languages: Sequence[str] = ()
) -> Iterator[Row]:
    """Yield the values of `COLUMNS` for each caption of `images` submitted up to and including `until`.

    Raises ImageFilterError before anything is yielded, if `images` cannot be applied to a language.
    """
    stored = [stored for stored, _read in CAPTION_COLUMNS.values()]
    return _rows(images_with_captions(project, stored, until=until, images=images, languages=languages))


def xm3600_lines(
    project: Project, *, until: datetime, images: ImageFilter = ALL_IMAGES, languages: Sequence[str] = ()
) -> Iterator[str]:
    """Yield a line for each image, for which only texts are read."""
    return map(_xm3600_line, images_with_captions(project, ["text"], until=until, images=images, languages=languages))


def images_with_captions(
    project: Project,
    fields: Sequence[str],
    *,
    until: datetime,
    images: ImageFilter = ALL_IMAGES,
    languages: Sequence[str] = (),
) -> Iterator[ImageCaptions]:
    """Yield the images that have a caption, in order, each with all `languages`, some perhaps with an empty list.

    In each row the author is a pseudonym, or None if the caption came from a file. Without `languages`, all are meant.
    """
    chosen = Round.objects.filter(project=project, kind=RoundKind.MAIN)
    chosen = chosen.filter(language__in=languages) if languages else chosen
    rounds = list(chosen.select_related("collection", "language"))
    within = captions_within(images, project, {round.language for round in rounds})
    within &= Q(~is_left_out(collection="round__collection"))
    return _with_captions(project, rounds, fields, until, within)


def _with_captions(
    project: Project, rounds: Sequence[Round], fields: Sequence[str], until: datetime, within: Q
) -> Iterator[ImageCaptions]:
    tags = sorted({round.language_id for round in rounds})
    # A project has far fewer authors than captions.
    name_of = cache(partial(pseudonym, project))
    for images in counted_by_image(rounds, fields, until=until, at_once=IMAGES_AT_ONCE, within=within):
        origins = origins_of(project, images.rows) if images.rows else {}
        for image, key in images.keys.items():
            if image in images.rows:
                rows: dict[str, list[Row]] = {tag: [] for tag in tags}
                for row in sorted(_named(images.rows[image], name_of), key=_BY_AUTHOR):
                    rows[row[LANGUAGE]].append(row)
                yield ImageCaptions(key, rows, origins.get(image, UNKNOWN))


def _named(rows: Iterable[Row], name_of: Callable[[int], str]) -> Iterator[Row]:
    for image, language, author, *rest in rows:
        yield image, language, "" if author is None else name_of(author), *rest


def _xm3600_line(image: ImageCaptions) -> str:
    return xm3600_line(image.key, image.texts, origin=image.origin)


def xm3600_line(key: str, captions: Mapping[str, Sequence[str]], *, origin: ImageOrigin = UNKNOWN) -> str:
    """The layout of Crossmodal-3600. A language in which an image has no caption yet has an empty list.

    What is known of the image's origin has keys with a slash, which readers of the layout pass over.
    """
    about = {f"image/{name}": value for name, value in origin._asdict().items() if value}
    return json_line({"image/key": key, **about} | {tag: {"caption": texts} for tag, texts in captions.items()})


def _rows(images: Iterable[ImageCaptions]) -> Iterator[Row]:
    """Yield the values of `COLUMNS`."""
    for image in images:
        for tag, captions in image.captions.items():
            for row in captions:
                values = list(row[_REST:])
                for place, read in _CONVERTED:
                    values[place] = read(values[place])
                yield image.key, tag, row[AUTHOR] or None, *values, *image.origin
