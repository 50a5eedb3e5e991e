"""An index of a release's images and captions: an SQLite file made from its tables, for pages and for sites.

It has what was published and nothing else. Search compares folded texts, so it finds parts of words in any script.
"""

# ruff: noqa: S608 Queries are put together from constants of this file; values are bound.
from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Self

SCHEMA = """
CREATE TABLE image (
    number INTEGER PRIMARY KEY, key TEXT, sha256 TEXT, width INTEGER, height INTEGER, title TEXT, author TEXT,
    licence TEXT, licence_url TEXT, source TEXT, countries TEXT, regions TEXT, continent TEXT, chosen_for TEXT,
    level TEXT, latitude REAL, longitude REAL
);
CREATE TABLE place (code TEXT, image INTEGER, PRIMARY KEY (code, image)) WITHOUT ROWID;
CREATE TABLE caption (image INTEGER, language TEXT, text TEXT, model TEXT, folded TEXT);
"""
INDEXES = """
CREATE INDEX image_by_choice ON image (chosen_for, level);
CREATE INDEX caption_by_image ON caption (image);
CREATE INDEX caption_by_language ON caption (language, image);
"""
LEVELS = ("region", "country", "continent", "anywhere")
PER_QUERY = 200
FIELDS = ("number", "key", "sha256", "width", "height", "title", "author", "licence", "licence_url", "source")


def search_form(text: str) -> str:
    """Return a text as search compares it: whatever case, width or composition it was typed in."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


@dataclass(frozen=True)
class IndexedCaption:
    """A caption; `model` is empty if a person wrote it."""

    language: str
    text: str
    model: str


@dataclass(frozen=True)
class IndexedImage:
    """An image of a release. `number` counts from 1 in the release's order; places are codes, the nearest first."""

    number: int
    key: str
    sha256: str
    width: int
    height: int
    title: str
    author: str
    licence: str
    licence_url: str
    source: str
    countries: Sequence[str]
    regions: Sequence[str]
    continent: str
    chosen_for: str
    level: str
    captions: Sequence[IndexedCaption] = ()


@dataclass(frozen=True)
class IndexQuery:
    """Which images: those with captions in a language, chosen for one, from a place or level, or with a text."""

    language: str = ""
    chosen: str = ""
    place: str = ""
    level: str = ""
    text: str = ""

    def has(self, caption: IndexedCaption) -> bool:
        """Whether a list shows the caption: one in the language and with the text, if either is asked for."""
        if not self.language and not self.text:
            return False
        return caption.language == (self.language or caption.language) and search_form(self.text) in search_form(
            caption.text
        )

    def where(self) -> tuple[str, list[str]]:
        conditions = {
            "number IN (SELECT image FROM caption WHERE language = ?)": "" if self.text else self.language,
            "chosen_for = ?": self.chosen,
            "level = ?": self.level,
            "number IN (SELECT image FROM place WHERE code = ?)": self.place,
        }
        values = [value for value in conditions.values() if value]
        parts = [condition for condition, value in conditions.items() if value]
        if self.text:
            in_language = "language = ? AND " if self.language else ""
            parts.append(f"number IN (SELECT image FROM caption WHERE {in_language}instr(folded, ?))")
            values += [self.language] if self.language else []
            values.append(search_form(self.text))
        return " AND ".join(parts) or "1", values


def write_index(folder: Path, path: Path) -> None:
    """Make the index of the release whose files lie in `folder`, in one pass over them.

    Raises FileNotFoundError where a table is missing.
    """
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {SCHEMA}")
        numbers: dict[str, int] = {}
        for number, row in enumerate(_lines(folder / "images.jsonl"), start=1):
            numbers[row["image"]] = number
            _put_image(database, number, row)
        for key, rows in groupby(_lines(folder / "captions.jsonl"), key=lambda row: row["image"]):
            database.executemany("INSERT INTO caption VALUES (?, ?, ?, ?, ?)", _captions(numbers[key], rows))
        database.executescript(INDEXES)
        database.commit()


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield json.loads(line)


def _put_image(database: sqlite3.Connection, number: int, row: dict[str, Any]) -> None:
    # A release made before images had places has no such columns.
    countries, regions = _codes(row.get("countries")), _codes(row.get("regions"))
    continent = row.get("continent") or ""
    values = [number, row["image"], *(row[name] for name in FIELDS[2:]), " ".join(countries), " ".join(regions)]
    values += [continent, row.get("chosen_for") or "", row.get("level") or ""]
    values += [row.get("latitude"), row.get("longitude")]
    database.execute(f"INSERT INTO image VALUES ({', '.join('?' * len(values))})", values)
    codes = dict.fromkeys([*countries, *regions, *([f"continent:{continent}"] if continent else [])])
    database.executemany("INSERT INTO place VALUES (?, ?)", [(code, number) for code in codes])


def _codes(value: Any) -> list[str]:
    return value.split() if isinstance(value, str) else list(value or ())


def _captions(number: int, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[int, str, str, str, str]]:
    english: dict[tuple[str, str], None] = {}
    for row in rows:
        yield number, row["language"], row["caption"], "", search_form(row["caption"])
        if row["english_caption"]:
            english[row["english_model"] or "", row["english_caption"]] = None
    for model, text in sorted(english):
        yield number, "en", text, model, search_form(text)


class ReleaseIndex:
    """An index that is open for reading; use it in a `with` statement."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        self._database.row_factory = sqlite3.Row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._database.close()

    def count(self, wanted: IndexQuery) -> int:
        where, values = wanted.where()
        return int(self._rows(f"SELECT count(*) FROM image WHERE {where}", values)[0][0])

    def numbers(self, wanted: IndexQuery) -> list[int]:
        where, values = wanted.where()
        return [row[0] for row in self._rows(f"SELECT number FROM image WHERE {where} ORDER BY number", values)]

    def images(self, numbers: Sequence[int]) -> list[IndexedImage]:
        """Return these images with all their captions, in this order; unknown numbers are left out."""
        marks = ", ".join("?" * len(numbers))
        captions: dict[int, list[IndexedCaption]] = {number: [] for number in numbers}
        rows = f"SELECT * FROM caption WHERE image IN ({marks}) ORDER BY image, language, model, rowid"
        for row in self._rows(rows, numbers):
            captions[row["image"]].append(IndexedCaption(row["language"], row["text"], row["model"]))
        found = {row["number"]: row for row in self._rows(f"SELECT * FROM image WHERE number IN ({marks})", numbers)}
        return [_image(found[number], captions[number]) for number in numbers if number in found]

    def each(self, wanted: IndexQuery) -> Iterator[IndexedImage]:
        """Go through images in constant memory, apart from their numbers."""
        numbers = self.numbers(wanted)
        for start in range(0, len(numbers), PER_QUERY):
            yield from self.images(numbers[start : start + PER_QUERY])

    def languages(self) -> dict[str, int]:
        """Count captions by language, those of models included."""
        return self._counts("SELECT language, count(*) FROM caption GROUP BY language ORDER BY language")

    def places(self) -> dict[str, int]:
        """Count images by code of a country, region or, after `continent:`, continent."""
        return self._counts("SELECT code, count(*) FROM place GROUP BY code ORDER BY code")

    def levels(self) -> dict[str, int]:
        counts = self._counts("SELECT level, count(*) FROM image GROUP BY level")
        return {level: counts[level] for level in LEVELS if level in counts}

    def chosen(self) -> dict[str, int]:
        """Count images by the language that they were chosen for."""
        return self._counts("SELECT chosen_for, count(*) FROM image WHERE chosen_for != '' GROUP BY 1 ORDER BY 1")

    def points(self) -> list[tuple[float, float, str]]:
        """Return latitude and longitude in degrees, and level, of images whose coordinates were published."""
        rows = "SELECT latitude, longitude, level FROM image WHERE latitude IS NOT NULL AND longitude IS NOT NULL"
        return [tuple(row) for row in self._rows(f"{rows} ORDER BY number")]

    def _counts(self, query: str) -> dict[str, int]:
        return {row[0]: row[1] for row in self._rows(query)}

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        return self._database.execute(query, values).fetchall()


def _image(row: sqlite3.Row, captions: Sequence[IndexedCaption]) -> IndexedImage:
    plain: dict[str, Any] = {
        name: row[name] if row[name] is not None else "" for name in (*FIELDS, "continent", "chosen_for", "level")
    }
    return IndexedImage(
        **plain, countries=row["countries"].split(), regions=row["regions"].split(), captions=tuple(captions)
    )
