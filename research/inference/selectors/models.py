"""Read captioning models for researchers: what they are and how many captions they made, never the texts."""

from __future__ import annotations

from collections.abc import Collection as AnyOf
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import Count, F, Max, Q, QuerySet

from core.images.models import Collection
from core.languages.models import Language
from core.people.models import User
from research.inference.backends.captioners import Decoding
from research.inference.models import UNFINISHED_STATES, CaptioningModel, ModelCaption, Translator
from research.inference.permissions import models_for, runs_for, translators_for

KEPT_S = 300
"""On PostgreSQL a caption may become visible after a later one. Counts that lack it are kept no longer than this."""
MAX_LANGUAGES = 4
ENGLISH = "en"


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
    newest = ModelCaption.objects.aggregate(Max("pk"))["pk__max"]
    keys = {model_id: f"caption-counts-{model_id}-{newest}" for model_id in model_ids}
    kept = cache.get_many(list(keys.values()))
    by_model: dict[int, dict[str, int]] = {pk: kept[key] for pk, key in keys.items() if key in kept}
    fresh: dict[int, dict[str, int]] = {pk: {} for pk in model_ids if pk not in by_model}
    if fresh:
        captions = ModelCaption.objects.filter(model__in=list(fresh))
        for model_id, tag, count in captions.values_list("model_id", "language_id").annotate(Count("pk")).order_by():
            fresh[model_id][tag] = count
        cache.set_many({keys[pk]: counts for pk, counts in fresh.items()}, KEPT_S)
    return by_model | fresh


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
