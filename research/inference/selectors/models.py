"""Read captioning models for researchers: what they are, and how many captions and stabilisers, never the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection as AnyOf
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.db.models import Count, F, Max, Q, QuerySet

from core.images.models import Collection, CollectionImage
from core.images.permissions import collections_to_use
from core.languages.models import Language
from core.people.models import User
from research.inference.backends.captioners import Decoding
from research.inference.models import UNFINISHED_STATES, CaptioningModel, ModelCaption, Translator
from research.inference.permissions import models_for, runs_for, translators_for
from research.inference.selectors.assigned_work import is_assigned
from tabular.downloads import BYTE_ORDER_MARK, csv_line, in_pieces

KEPT_S = 300
"""On PostgreSQL a caption may become visible after a later one. Counts that lack it are kept no longer than this."""
MAX_LANGUAGES = 4
STABILISER_COLUMNS = ("collection", "image", "languages", "stabilisers")
TALLY = """
    SELECT entry.collection_id, said.stabilisers, COUNT(*), SUM(said.languages)
    FROM ({per_image}) said JOIN images_collectionimage entry ON entry.image_id = said.image_id
    GROUP BY entry.collection_id, said.stabilisers
"""


@dataclass(frozen=True)
class ModelRow:
    model: CaptioningModel
    captions: Sequence[tuple[Language, int]]
    """By language, in the order of their names; none where there is no caption."""
    total: int
    going: int
    """Runs that wait for a worker or have one."""

    @property
    def most(self) -> Sequence[tuple[Language, int]]:
        """The languages with most captions."""
        return sorted(self.captions, key=lambda pair: -pair[1])[:MAX_LANGUAGES]

    @property
    def more(self) -> int:
        return len(self.captions) - len(self.most)


def models_named(text: str, viewer: User) -> QuerySet[CaptioningModel]:
    """List the models that `viewer` may see, or those of them whose name or source contains `text`."""
    models = models_for(viewer).select_related("variant_of", "english_model", "project")
    models = models.order_by(F("retired_at").asc(nulls_first=True), "name")
    return models.filter(Q(name__icontains=text) | Q(source__icontains=text)) if text else models


def model_rows(models: AnyOf[CaptioningModel], viewer: User) -> list[ModelRow]:
    """Add counts to `models`, in a fixed number of queries."""
    counts, languages = caption_counts([model.pk for model in models]), languages_by_tag()
    runs = runs_for(viewer).filter(model__in=models, state__in=UNFINISHED_STATES)
    going = dict(runs.values_list("model").annotate(Count("pk")).order_by())
    return [
        ModelRow(
            model=model,
            captions=_by_language(counts.get(model.pk, {}), languages),
            total=sum(counts.get(model.pk, {}).values()),
            going=going.get(model.pk, 0),
        )
        for model in models
    ]


def caption_counts(model_ids: Sequence[int]) -> Mapping[int, Mapping[str, int]]:
    """Count captions by model and language; they are counted again only after a new caption of any model."""
    keys = _keys_of_counts(model_ids)
    kept = cache.get_many(list(keys.values()))
    by_model: dict[int, dict[str, int]] = {pk: kept[key] for pk, key in keys.items() if key in kept}
    fresh: dict[int, dict[str, int]] = {pk: {} for pk in model_ids if pk not in by_model}
    if fresh:
        captions = ModelCaption.objects.filter(model__in=list(fresh))
        for model_id, tag, count in captions.values_list("model_id", "language_id").annotate(Count("pk")).order_by():
            fresh[model_id][tag] = count
        cache.set_many({keys[pk]: counts for pk, counts in fresh.items()}, KEPT_S)
    return by_model | fresh


def forget_counts(model_ids: Sequence[int]) -> None:
    """Count again after captions were deleted."""
    cache.delete_many(list(_keys_of_counts(model_ids).values()))


def _keys_of_counts(model_ids: Sequence[int]) -> dict[int, str]:
    newest = ModelCaption.objects.aggregate(Max("pk"))["pk__max"]
    return {model_id: f"caption-counts-{model_id}-{newest}" for model_id in model_ids}


def counts_in(model: CaptioningModel, collection: Collection) -> dict[str, int]:
    """Count, by language, the images of `collection` that have a caption by `model` already."""
    captions = ModelCaption.objects.filter(model=model, image__entries__collection=collection)
    return dict(captions.values_list("language_id").annotate(Count("pk")).order_by())


def languages_by_tag() -> dict[str, Language]:
    return Language.objects.in_bulk()


def english_models(viewer: User) -> QuerySet[CaptioningModel]:
    """List the models whose English captions can be translated, without models that translate themselves."""
    return models_for(viewer).filter(english_model=None).order_by("name")


def translators(viewer: User) -> QuerySet[Translator]:
    return translators_for(viewer).order_by("name")


def _by_language(counts: Mapping[str, int], languages: Mapping[str, Language]) -> list[tuple[Language, int]]:
    named = [(languages[tag], count) for tag, count in counts.items()]
    return sorted(named, key=lambda row: row[0].name.casefold())


def ascribed_to(model: CaptioningModel, decoding: Decoding) -> CaptioningModel | None:
    """Find the variant of `model` that decodes with `decoding`; None if it does not exist yet."""
    base = model.variant_of or model
    if not base.decoding:
        return base
    return with_decoding(base, decoding)


def with_decoding(base: CaptioningModel, decoding: Decoding) -> CaptioningModel | None:
    """Find the one of `base` and its variants that decodes with `decoding`."""
    # A setting that did not exist when the decoding was stored has its default.
    models = (base, *base.variants.all())
    return next((one for one in models if one.decoding and Decoding.from_stored(one.decoding) == decoding), None)


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
    rows = cache.get_or_set(f"stabilisers-{model.pk}-{newest}", lambda: _tallied(model), KEPT_S) or []
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
    return in_pieces(line for part in ([BYTE_ORDER_MARK + csv_line(STABILISER_COLUMNS)], lines) for line in part)


def _figures(row: dict[str, Any], *, is_assigned: bool) -> list[object]:
    return ["", ""] if is_assigned else [row["languages"], row["stabilisers"]]


def _tallied(model: CaptioningModel) -> list[tuple[int, int, int, int]]:
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
