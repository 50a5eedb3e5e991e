"""Captions of whole rounds, some images at a time, for large files.

Rows are the database driver's, without Django's conversion, which takes several times as long as reading. So times and
JSON are texts: read them with `iso_of`, `day_of` and `list_of`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import F, Func, Q, QuerySet, TextField

from annotation.models import Caption, Round
from core.images.models import Collection, CollectionImage
from core.images.selectors import keys_in_order
from core.languages.models import Language
from core.people.models import Project
from research.selection.rules.image_filters import ImageFilter
from research.selection.selectors.subsets import images_of

Row = tuple[Any, ...]

FIRST_COLUMNS = ("image_id", "round__language_id", "author_id", "position")
"""The first columns of a caption's row."""
MOMENT = "_at"
"""The endings of the names of columns that hold times."""
IMAGE, LANGUAGE, AUTHOR, POSITION = range(len(FIRST_COLUMNS))


@dataclass(frozen=True)
class CollectionImages:
    """Images of a collection in order, by primary key, with their keys and the rows of each that has any."""

    collection: Collection
    keys: Mapping[int, str]
    rows: Mapping[int, list[Row]]


def counted_by_image(
    rounds: Iterable[Round], columns: Sequence[str], *, until: datetime, at_once: int, within: Q | None = None
) -> Iterator[CollectionImages]:
    """Yield the captions that count, submitted up to `until`: `FIRST_COLUMNS` and `columns`, in no order within an
    image. `within` restricts them.

    Collections come by slug, images by position. Images that were described and then removed from the collection come
    last, by their hashes, which serve as their keys.
    """
    by_collection: dict[Collection, list[Round]] = defaultdict(list)
    for round in rounds:
        by_collection[round.collection].append(round)
    for collection in sorted(by_collection, key=lambda collection: collection.slug):
        counted = Caption.objects.counted().filter(round__in=by_collection[collection], submitted_at__lte=until)
        counted = counted.filter(within or Q())
        for keys in keys_in_order(collection.pk, at_once=at_once):
            yield CollectionImages(collection, keys, _by_image(counted, keys, columns))
        gone = counted.exclude(image__in=CollectionImage.objects.filter(collection=collection).values("image"))
        digests = iter(gone.order_by("image__sha256").values_list("image", "image__sha256").distinct())
        while keys := dict(islice(digests, at_once)):
            yield CollectionImages(collection, keys, _by_image(gone, keys, columns))


def _by_image(captions: QuerySet[Caption], images: Iterable[int], columns: Sequence[str]) -> dict[int, list[Row]]:
    rows_by_image: dict[int, list[Row]] = defaultdict(list)
    for row in raw_rows(captions.filter(image__in=list(images)), [*FIRST_COLUMNS, *columns]):
        rows_by_image[row[IMAGE]].append(row)
    return rows_by_image


class _StoredTime(Func):
    """A time in UTC as SQLite stores it: 2026-11-21 20:39:11.123456. PostgreSQL leaves out zeros at its end."""

    template = "CAST(%(expressions)s AS text)"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # With to_char, the query of an export takes the server about a fifth longer.
        template = "CAST(%(expressions)s AT TIME ZONE 'UTC' AS text)"
        return self.as_sql(compiler, connection, template=template, **context)


def raw_rows(query: QuerySet[Any], columns: Sequence[str]) -> list[Row]:
    """Fetch the rows of a query, in the order of `columns`, as the driver returns them."""
    selected = [_StoredTime(F(column)) if column.endswith(MOMENT) else F(column) for column in columns]
    sql, parameters = query.order_by().values_list(*selected).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def iso_of(stored: str | None) -> str | None:
    """Return a time as `tabular.downloads.as_iso` writes it."""
    return None if stored is None else f"{stored[:10]}T{stored[11:19]}.{stored[20:23]:0<3}Z"


def day_of(stored: str | None) -> str | None:
    """Return the day of a time, such as 2026-11-21."""
    return stored and stored[:10]


@lru_cache(maxsize=1024)
def list_of(stored: str) -> tuple[str, ...]:
    """Return a list of recurring texts, such as codes of warnings."""
    return tuple(json.loads(stored))


def captions_within(images: ImageFilter, project: Project, languages: Iterable[Language]) -> Q:
    """Return the condition that a caption of one of `languages` is of one of `images`.

    Raises ImageFilterError if `images` cannot be applied to a language.
    """
    if images.is_all:
        return Q()
    in_order = sorted(languages, key=lambda language: language.pk)
    if not images.depends_on_language:
        in_order = in_order[:1]
        return Q(*(Q(image__in=images_of(images, project=project, language=language)) for language in in_order))
    within = Q(pk__in=[])
    for language in in_order:
        allowed = images_of(images, project=project, language=language)
        within |= Q(round__language=language, image__in=allowed)
    return within
