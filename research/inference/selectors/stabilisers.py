"""Count how many different stabilisers a pivot-stabilised model wrote for an image, over its languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.db.models import Count, QuerySet

from core.images.models import Collection, CollectionImage
from core.images.permissions import collections_to_use
from core.people.models import User
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.selectors.assigned_work import is_assigned
from research.inference.selectors.models import KEPT_S
from tabular.downloads import in_pieces
from tabular.spreadsheets import BYTE_ORDER_MARK, csv_line

COLUMNS = ("collection", "image", "languages", "stabilisers")
TALLY = """
    SELECT entry.collection_id, said.stabilisers, COUNT(*), SUM(said.languages)
    FROM ({per_image}) said JOIN images_collectionimage entry ON entry.image_id = said.image_id
    GROUP BY entry.collection_id, said.stabilisers
"""


@dataclass
class StabiliserTally:
    """Images of `collection` that have stabilisers: `images` counts them by their number of different ones."""

    collection: Collection
    images: Counter[int] = field(default_factory=Counter)
    captions: int = 0

    @property
    def total(self) -> int:
        return self.images.total()

    @property
    def mean(self) -> float:
        return sum(number * images for number, images in self.images.items()) / self.total

    @property
    def languages(self) -> float:
        """The mean number of languages per image."""
        return self.captions / self.total

    @property
    def several(self) -> int:
        """The number of images with more than one."""
        return self.total - self.images[1]


def tallies(model: CaptioningModel, viewer: User) -> list[StabiliserTally]:
    """Tally each collection of `viewer` with stabilisers of `model`; the database counts.

    They are counted again only after a new caption of any model, because for millions it takes seconds, or after
    `KEPT_S`, because collections may change without a caption.
    """
    newest = ModelCaption.objects.order_by("-pk").values_list("pk", flat=True).first()
    rows = cache.get_or_set(f"stabilisers-{model.pk}-{newest}", lambda: _counted(model), KEPT_S) or []
    collections = collections_to_use(viewer).in_bulk({row[0] for row in rows})
    by_collection = {pk: StabiliserTally(collection) for pk, collection in collections.items()}
    for collection, stabilisers, images, captions in rows:
        if collection not in by_collection:
            continue
        by_collection[collection].images[stabilisers] += images
        by_collection[collection].captions += captions
    return sorted(by_collection.values(), key=lambda tally: (tally.collection.name, tally.collection.pk))


def stabilisers_table(model: CaptioningModel, collection: Collection, viewer: User) -> Iterator[bytes]:
    """Yield a CSV file with figures of each image, never the words; images assigned to `viewer` have no figures."""
    entries = CollectionImage.objects.filter(is_assigned(viewer, "image"), collection=collection)
    assigned_ids = set(entries.values_list("image_id", flat=True))
    counted = _per_image(model, "image__entries__key").filter(image__entries__collection=collection)
    rows = counted.order_by("image__entries__key").iterator(chunk_size=2000)
    lines = (
        csv_line(
            [collection.slug, row["image__entries__key"], *_figures(row, is_assigned=row["image_id"] in assigned_ids)]
        )
        for row in rows
    )
    return in_pieces(line for part in ([BYTE_ORDER_MARK + csv_line(COLUMNS)], lines) for line in part)


def _figures(row: dict[str, Any], *, is_assigned: bool) -> list[object]:
    return ["", ""] if is_assigned else [row["languages"], row["stabilisers"]]


def _counted(model: CaptioningModel) -> list[tuple[int, int, int, int]]:
    """Count by collection and number of stabilisers: the images that have so many, and their captions."""
    per_image, parameters = _per_image(model).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(TALLY.format(per_image=per_image), parameters)
        return cursor.fetchall()


def _per_image(model: CaptioningModel, *more: str) -> QuerySet[ModelCaption, dict[str, Any]]:
    captions = ModelCaption.objects.filter(model=model.pk).exclude(stabiliser="").order_by()
    return captions.values("image_id", *more).annotate(
        stabilisers=Count("stabiliser", distinct=True), languages=Count("pk")
    )
