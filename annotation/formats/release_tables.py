"""The tables of a release as JSON Lines and as Parquet, in constant memory; the same rows give the same bytes.

Each column is one entry: its name, kind, meaning and value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from annotation.models import Round
from annotation.rules.releases import UNKNOWN_PLACE, ReleasedPlace
from annotation.selectors.caption_rows import day_of, list_of
from core.images.models import Image
from crosslens_metrics.caption_stats import COLUMNS as STATISTICS
from tabular.downloads import json_texts

TEXT, NUMBER, DAY, TEXTS, FLOAT = pa.string(), pa.int32(), pa.date32(), pa.list_(pa.string()), pa.float64()
"""Kinds of columns. A day is a text in JSON, of the form 2026-11-21."""

ROWS_PER_GROUP = 4_000
LINES_AT_ONCE = 400
R = TypeVar("R")


@dataclass(frozen=True)
class ReleaseColumn(Generic[R]):
    """A column: `value` computes it from a row; `meaning` is its description in README.md."""

    name: str
    kind: pa.DataType
    value: Callable[[R], Any]
    meaning: str


class ReleaseTable(Generic[R]):
    """A table that is written as `NAME.jsonl` and `NAME.parquet` in a folder.

    Rows are written in groups, column by column. That is twice as fast as row by row.
    """

    def __init__(self, folder: Path, name: str, columns: Sequence[ReleaseColumn[R]]) -> None:
        self.count = 0
        self._columns = columns
        self._rows: list[R] = []
        self._schema = pa.schema([pa.field(column.name, column.kind) for column in columns])
        self._line = "{" + ", ".join(f"{name}: %s" for name in json_texts(self._schema.names)) + "}\n"
        with ExitStack() as stack:
            self._json = stack.enter_context((folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n"))
            self._parquet = stack.enter_context(
                pq.ParquetWriter(
                    folder / f"{name}.parquet",
                    self._schema,
                    version="2.6",
                    compression="zstd",
                    compression_level=3,
                )
            )
            self._files = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            self._write_group()
        self._files.close()

    def add(self, row: R) -> None:
        """Add a row, which must not change any more."""
        self._rows.append(row)
        if len(self._rows) == ROWS_PER_GROUP:
            self._write_group()
        self.count += 1

    def _write_group(self) -> None:
        if not self._rows:
            return
        values = [list(map(column.value, self._rows)) for column in self._columns]
        for first in range(0, len(self._rows), LINES_AT_ONCE):
            texts = [json_texts(column[first : first + LINES_AT_ONCE]) for column in values]
            self._json.write("".join(map(self._line.__mod__, zip(*texts, strict=True))))
        arrays = [_array(column, field.type) for column, field in zip(values, self._schema, strict=True)]
        self._parquet.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=ROWS_PER_GROUP)
        self._rows.clear()


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(values, TEXT).cast(DAY) if kind == DAY else pa.array(values, kind)


class StoredCaption(NamedTuple):
    """What is read of a caption in the database, by the names of the columns."""

    pk: int
    round_id: int
    text: str
    warnings: str
    guidelines__version: int
    item__batch__guidelines_language: str | None
    item__batch__rating_translation__revision: int | None
    item__batch__writing_translation__language: str | None
    item__batch__writing_translation__revision: int | None
    submitted_at: str
    item__batch_id: Any
    item__position: int | None
    item__rating: str | None
    item__rated_at: str | None
    item__rating_ms: int | None
    item__writing_ms: int | None
    item__english__model__name: str | None
    item__english__text: str | None


class CaptionRow(NamedTuple):
    """A caption of the release."""

    id: str
    image: str
    stored_image: Image
    language: str
    annotator: str | None
    round: Round
    verified_as: str | None
    stored: StoredCaption

    @property
    def guidelines_version(self) -> int | None:
        # The author of a caption from a file saw no guidelines here.
        return None if self.annotator is None else self.stored.guidelines__version

    @property
    def guidelines_language(self) -> str | None:
        return self.stored.item__batch__guidelines_language or None

    @property
    def guidelines_revision(self) -> int | None:
        return self.stored.item__batch__rating_translation__revision


class VerdictRow(NamedTuple):
    """A rating of a caption by somebody other than its author."""

    caption: CaptionRow
    reviewer: str
    rating: str
    guidelines_version: int
    guidelines_language: str | None
    guidelines_revision: int | None
    rating_ms: int | None
    rated_on: str


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image that has captions in the release."""

    key: str
    collection: str
    stored_image: Image
    region: str
    place: ReleasedPlace = UNKNOWN_PLACE


PLACES_SINCE = 2
"""The first format in which images have their places and levels."""
LANGUAGES_SINCE = 3
"""The first format that names the language of the guidelines that somebody read."""
AUTHORS_SINCE = 4
"""The first format whose shares have intervals over authors."""
CROISSANT_SINCE = 5
"""The first format with croissant.json."""
TRANSLATIONS_SINCE = 6
"""The first format that has the translations of the guidelines that were shown."""


def stored_name(name: str) -> Callable[[CaptionRow], Any]:
    return attrgetter(f"stored.{name}")


IMAGE = "Key of the image in its collection."
SHA256 = "SHA-256 of the image's original file."
LANGUAGE = "BCP-47 tag of the language."
ANNOTATOR = "Pseudonym of the author, in this release alone; null if the caption came from a file."
GUIDELINES = "Version of the guidelines that was shown, as in guidelines/; null where none was."
GUIDELINES_LANGUAGE = "Language of the translation that was shown of them; null for the original, and where none was."
GUIDELINES_REVISION = "Revision of that translation, as in guidelines/; null too for batches from before it was kept."
WRITING_LANGUAGE = "The same of what is for writing; null too for batches from before it was kept."
ENGLISH_MODEL = "Model whose English caption was rated before, then hidden."
ENGLISH_CAPTION = "That English caption."
VERIFIED_AS = "What several raters together made of it; null where it was not drawn for that, or lacks ratings."
RATING = "EXCELLENT, GOOD, MEDIUM, BAD or NOT-ENOUGH-INFO."
RATING_MS = "Active time on the rating, in milliseconds, idle time cut."
RATED_ON = "Day of the rating (UTC)."
CAPTION_ID = "The caption, as in captions."

CAPTIONS: tuple[ReleaseColumn[CaptionRow], ...] = (
    ReleaseColumn("id", TEXT, lambda row: row.id, "Name of the caption, the same in every release that has it."),
    ReleaseColumn("image", TEXT, lambda row: row.image, IMAGE),
    ReleaseColumn("image_sha256", TEXT, lambda row: row.stored_image.sha256, SHA256),
    ReleaseColumn("language", TEXT, lambda row: row.language, LANGUAGE),
    ReleaseColumn("annotator", TEXT, lambda row: row.annotator, ANNOTATOR),
    ReleaseColumn(
        "caption", TEXT, stored_name("text"), "The caption, trimmed and in Unicode's NFC; of a file, letter for letter."
    ),
    ReleaseColumn("guidelines_version", NUMBER, lambda row: row.guidelines_version, GUIDELINES),
    ReleaseColumn(
        "warnings",
        TEXTS,
        lambda row: list_of(row.stored.warnings),
        "Hints that the writer saw and let be: short, script, repeated, copied.",
    ),
    ReleaseColumn("english_model", TEXT, stored_name("item__english__model__name"), ENGLISH_MODEL),
    ReleaseColumn("english_caption", TEXT, stored_name("item__english__text"), ENGLISH_CAPTION),
    ReleaseColumn("english_rating", TEXT, lambda row: row.stored.item__rating or None, "How the annotator rated it."),
    ReleaseColumn("verified_as", TEXT, lambda row: row.verified_as, VERIFIED_AS),
    ReleaseColumn(
        "source",
        TEXT,
        lambda row: row.round.source,
        "Where a caption from a file comes from, and under which licence; else empty.",
    ),
    ReleaseColumn("rating_ms", NUMBER, stored_name("item__rating_ms"), RATING_MS),
    ReleaseColumn(
        "writing_ms",
        NUMBER,
        stored_name("item__writing_ms"),
        "Active time on the writing, in milliseconds, idle time cut.",
    ),
    ReleaseColumn(
        "submitted_on",
        DAY,
        lambda row: day_of(row.stored.submitted_at),
        "Day on which it was submitted, or read from its file (UTC).",
    ),
)
WRITING: tuple[ReleaseColumn[CaptionRow], ...] = (
    ReleaseColumn(
        "writing_language", TEXT, stored_name("item__batch__writing_translation__language"), WRITING_LANGUAGE
    ),
    ReleaseColumn(
        "writing_revision",
        NUMBER,
        stored_name("item__batch__writing_translation__revision"),
        "Revision of that translation.",
    ),
)
VERDICTS: tuple[ReleaseColumn[VerdictRow], ...] = (
    ReleaseColumn("caption_id", TEXT, lambda row: row.caption.id, CAPTION_ID),
    ReleaseColumn("image", TEXT, lambda row: row.caption.image, IMAGE),
    ReleaseColumn("language", TEXT, lambda row: row.caption.language, LANGUAGE),
    ReleaseColumn(
        "rater",
        TEXT,
        lambda row: row.reviewer,
        "Pseudonym of the rater, in this release alone; the same as for captions that the person wrote.",
    ),
    ReleaseColumn("rating", TEXT, lambda row: row.rating, RATING),
    ReleaseColumn("verified_as", TEXT, lambda row: row.caption.verified_as, VERIFIED_AS),
    ReleaseColumn("guidelines_version", NUMBER, lambda row: row.guidelines_version, GUIDELINES),
    ReleaseColumn("rating_ms", NUMBER, lambda row: row.rating_ms, RATING_MS),
    ReleaseColumn("rated_on", DAY, lambda row: row.rated_on, RATED_ON),
)
ENGLISH_RATINGS: tuple[ReleaseColumn[CaptionRow], ...] = (
    ReleaseColumn("caption_id", TEXT, lambda row: row.id, CAPTION_ID),
    ReleaseColumn("image", TEXT, lambda row: row.image, IMAGE),
    ReleaseColumn("language", TEXT, lambda row: row.language, LANGUAGE),
    ReleaseColumn("annotator", TEXT, lambda row: row.annotator, ANNOTATOR),
    ReleaseColumn("english_model", TEXT, stored_name("item__english__model__name"), ENGLISH_MODEL),
    ReleaseColumn("english_caption", TEXT, stored_name("item__english__text"), ENGLISH_CAPTION),
    ReleaseColumn("rating", TEXT, stored_name("item__rating"), RATING),
    ReleaseColumn("guidelines_version", NUMBER, lambda row: row.guidelines_version, GUIDELINES),
    ReleaseColumn("rated_on", DAY, lambda row: day_of(row.stored.item__rated_at), RATED_ON),
)
IMAGES: tuple[ReleaseColumn[ImageRow], ...] = (
    ReleaseColumn("image", TEXT, lambda row: row.key, IMAGE),
    ReleaseColumn("collection", TEXT, lambda row: row.collection, "Collection of the image."),
    ReleaseColumn("sha256", TEXT, lambda row: row.stored_image.sha256, SHA256),
    ReleaseColumn("width", NUMBER, lambda row: row.stored_image.width, "Pixels, upright."),
    ReleaseColumn("height", NUMBER, lambda row: row.stored_image.height, "Pixels, upright."),
    ReleaseColumn(
        "region",
        TEXT,
        lambda row: row.region,
        "For which part of the world the image was chosen, where that is known.",
    ),
    ReleaseColumn("title", TEXT, lambda row: row.stored_image.title, "Title of the image."),
    ReleaseColumn("author", TEXT, lambda row: row.stored_image.author, "Author of the image."),
    ReleaseColumn("licence", TEXT, lambda row: row.stored_image.licence, "Licence of the image."),
    ReleaseColumn("licence_url", TEXT, lambda row: row.stored_image.licence_url, "Address of that licence."),
    ReleaseColumn("source", TEXT, lambda row: row.stored_image.source, "Where the image was found."),
)
REGION_OF_MANIFEST = (
    "Column `region` of the list that the images came with, in its words; `regions` has what the coordinates say."
)
PLACES: tuple[ReleaseColumn[ImageRow], ...] = (
    ReleaseColumn(
        "countries",
        TEXT,
        lambda row: row.place.countries or None,
        "Countries in which the image was taken: ISO 3166-1 codes, separated by spaces; several where that is "
        "disputed; empty where it is not known, and at sea.",
    ),
    ReleaseColumn(
        "regions",
        TEXT,
        lambda row: row.place.regions or None,
        "Regions in which it was taken: ISO 3166-2 or imported codes, separated by spaces, the most detailed first.",
    ),
    ReleaseColumn(
        "continent",
        TEXT,
        lambda row: row.place.continent or None,
        "Continent on which it was taken: AF, AN, AS, EU, NA, OC or SA.",
    ),
    ReleaseColumn(
        "chosen_for",
        TEXT,
        lambda row: row.place.chosen_for or None,
        "Language for which it was chosen by place, if it was.",
    ),
    ReleaseColumn(
        "level",
        TEXT,
        lambda row: row.place.level or None,
        "Where it was taken, seen from that language: region, country, continent or anywhere.",
    ),
)
"""Columns after `region`, since format 2."""
COORDINATES: tuple[ReleaseColumn[ImageRow], ...] = (
    ReleaseColumn("latitude", FLOAT, lambda row: row.place.latitude, "Degrees north (WGS 84)."),
    ReleaseColumn("longitude", FLOAT, lambda row: row.place.longitude, "Degrees east (WGS 84)."),
)
TABLES: Mapping[str, tuple[ReleaseColumn[Any], ...]] = {
    "captions": CAPTIONS,
    "verdicts": VERDICTS,
    "english_ratings": ENGLISH_RATINGS,
    "images": IMAGES,
}


def tables_of(*, format: int, has_coordinates: bool) -> Mapping[str, tuple[ReleaseColumn[Any], ...]]:
    """Return the tables of a release by name, with their columns in this version of the format."""
    if format < PLACES_SINCE:
        return TABLES
    at = next(number for number, column in enumerate(IMAGES) if column.name == "region")
    region = replace(IMAGES[at], meaning=REGION_OF_MANIFEST)
    more = (*PLACES, *COORDINATES) if has_coordinates else PLACES
    tables = {**TABLES, "images": (*IMAGES[:at], region, *more, *IMAGES[at + 1 :])}
    if format < LANGUAGES_SINCE:
        return tables
    tables = {name: tuple(_with_languages(columns)) for name, columns in tables.items()}
    if format < TRANSLATIONS_SINCE:
        return tables
    return {name: tuple(_with_revisions(name, columns)) for name, columns in tables.items()}


def _with_languages(columns: Iterable[ReleaseColumn[Any]]) -> Iterator[ReleaseColumn[Any]]:
    for column in columns:
        yield column
        if column.name == "guidelines_version":
            yield ReleaseColumn("guidelines_language", TEXT, lambda row: row.guidelines_language, GUIDELINES_LANGUAGE)


def _with_revisions(table: str, columns: Iterable[ReleaseColumn[Any]]) -> Iterator[ReleaseColumn[Any]]:
    for column in columns:
        yield column
        if column.name == "guidelines_language":
            yield ReleaseColumn("guidelines_revision", NUMBER, lambda row: row.guidelines_revision, GUIDELINES_REVISION)
            if table == "captions":
                yield from WRITING


SHARES = ("good", "medium", "bad", "not_enough_info")
CHANGES = ("id", "language", "change", "reason")
LEVELS = ("chosen_for", "region", "country", "continent", "anywhere")


def quality_columns(format: int) -> tuple[str, ...]:
    """Captions that have all their ratings; percentages of `verified`, with the ends of their 95% intervals."""
    over_authors = ("_authors_low", "_authors_high") if format >= AUTHORS_SINCE else ()
    parts = ("", "_percent", "_low", "_high", *over_authors)
    shares = [f"{share}{part}" for share in SHARES for part in parts]
    return ("language", "verified", "ratings", "raters", *shares, "alpha", "unfinished")


def csv_columns(format: int) -> dict[str, Sequence[str]]:
    """Return the columns of each file that is only CSV."""
    quality = quality_columns(format)
    return {"quality.csv": quality, "statistics.csv": STATISTICS, "levels.csv": LEVELS, "changes.csv": CHANGES}


MEANINGS = {
    "id": CAPTIONS[0].meaning,
    "language": LANGUAGE,
    "verified": "Captions that have all their ratings; what the percentages are of.",
    "ratings": "Ratings of those captions.",
    "raters": "People who gave those ratings.",
    "good": "Captions that came to GOOD or EXCELLENT.",
    "medium": "Captions that came to MEDIUM or better.",
    "bad": "Captions that came to BAD.",
    "not_enough_info": "Captions of which nothing could be said; among all, and in none of the other shares.",
    **{
        f"{share}{part}": said
        for share in SHARES
        for part, said in (
            ("_percent", "That as a percentage."),
            ("_low", "Lower end of its 95% interval (Wilson)."),
            ("_high", "Upper end of its 95% interval."),
            ("_authors_low", "Lower end of its 95% interval over authors (jackknife): for other authors like these."),
            ("_authors_high", "Upper end; both are empty where fewer than two are known, or all have the same share."),
        )
    },
    "alpha": "Krippendorff's ordinal alpha of the ratings, NOT-ENOUGH-INFO left out; empty where it is not defined.",
    "unfinished": "Captions that were drawn and rated, and lack ratings.",
    "captions": "Captions in the language.",
    "images_with_1": "Images with one caption.",
    "images_with_2": "Images with two.",
    "images_with_3_or_more": "Images with three or more.",
    "mean_words": "Words per caption; a word is what whitespace separates.",
    "mean_chars": "Characters (Unicode code points) per caption.",
    "chosen_for": "Language for which images were chosen by place.",
    "region": "Images chosen for it that were taken in a region where it is spoken.",
    "country": "Images from elsewhere in a country where it is spoken.",
    "continent": "Images from elsewhere on a continent where it is spoken.",
    "anywhere": "Images from anywhere else.",
    "change": "added, changed or removed.",
    "reason": "Why it was removed: excluded, withdrawn, returned, late, or not-released with its language or image.",
}
"""The columns of the CSV files."""
