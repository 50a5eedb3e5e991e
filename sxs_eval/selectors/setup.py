"""What a new comparison could use: its settings, models with captions of a collection, and in which languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef

from core.images.models import Collection
from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics.scales import SEVEN_POINTS
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.permissions import models_in
from research.selection.rules.image_filters import ImageFilter
from research.selection.selectors.subsets import images_of
from sxs_eval.models import Comparison, EqualCaptions


@dataclass(frozen=True)
class ComparisonSetting:
    """Settings that comparisons of any two models in any language can share. Shares are in percent of the pairs.

    `images` is an image filter, such as `region` or `subset:xm600`; empty for all images.
    """

    subset: int | None = None
    seed: int = 0
    images: str = ""
    scale: int = SEVEN_POINTS.points
    equal_captions: EqualCaptions = EqualCaptions.SHOWN
    replication: int = 3
    batch_size: int = 20
    lease_s: int = 4 * 3600
    gold_percent: int = 0
    repeat_percent: int = 0
    checks_before_pause: int = 5
    failures_percent: int = 40


@dataclass(frozen=True)
class LanguageCoverage:
    """How many images of a collection two models both describe in a language. `is_there`: already compared in it."""

    language: Language
    images: int
    is_there: bool


def models_with_captions(project: Project, collection: Collection) -> list[tuple[CaptioningModel, int]]:
    """Return the models of `project` that describe images of `collection`, with their number of languages."""
    in_collection = collection.entries.in_results().filter(image=OuterRef("image"))
    captions = ModelCaption.objects.in_use().filter(Exists(in_collection), model__in=models_in(project).values("pk"))
    counts = dict(captions.values_list("model").annotate(Count("language", distinct=True)).order_by())
    return [(model, counts[model.pk]) for model in CaptioningModel.objects.filter(pk__in=counts)]


def size_of(collection: Collection) -> int:
    return collection.entries.in_results().count()


@dataclass(frozen=True)
class FilteredImages:
    """What an image filter leaves of a collection: `images`, of which both models describe `described`."""

    images: int
    described: int


def left_by(
    language: Language,
    filter: ImageFilter,
    *,
    project: Project,
    collection: Collection,
    base: CaptioningModel,
    test: CaptioningModel,
) -> FilteredImages:
    """Count the images that a filter leaves for `language`; raises ImageFilterError as `images_of`."""
    only = images_of(filter, project=project, language=language)
    left = collection.entries.in_results()
    if only is not None:
        left = left.filter(image__in=only)
    captions = ModelCaption.objects.in_use().filter(image=OuterRef("image"), language=language)
    described = left.filter(Exists(captions.filter(model=base)), Exists(captions.filter(model=test)))
    return FilteredImages(left.count(), described.count())


def coverage_of(
    project: Project, collection: Collection, base: CaptioningModel, test: CaptioningModel
) -> Sequence[LanguageCoverage]:
    """List all languages, by number of images that both describe."""
    in_collection = collection.entries.in_results().filter(image=OuterRef("image"))
    tested = ModelCaption.objects.in_use().filter(model=test, image=OuterRef("image"), language=OuterRef("language"))
    both = ModelCaption.objects.in_use().filter(Exists(in_collection), Exists(tested), model=base)
    images = dict(both.values_list("language").annotate(Count("pk")).order_by())
    there = set(
        Comparison.objects.in_results()
        .filter(project=project, collection=collection, base=base, test=test)
        .values_list("language", flat=True)
    )
    rows = [
        LanguageCoverage(language, images.get(language.pk, 0), language.pk in there)
        for language in Language.objects.all()
    ]
    return sorted(rows, key=lambda row: -row.images)
