"""How the pairs of comparisons were drawn and judged, for the signatures of their figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from core.images.models import CollectionImage, Image
from crosslens_metrics.reports.comparison import NO_DESIGN
from crosslens_metrics.signatures import ORIGINAL, Signature
from research.selection.rules.image_filters import ImageFilter
from sxs_eval.models import Comparison, JudgingBatch, Pair

EVERYTHING = "all"


def design_of(comparison: Comparison, filter: ImageFilter) -> Signature:
    """Return what signatures say of a comparison, over the images that a filter leaves; judgements say the rest.

    Of one from a file it is what the file says.
    """
    if comparison.source:
        known = Signature.parse(comparison.design) if comparison.design else NO_DESIGN
        if filter.is_all:
            return known
        images = "+".join(terms for terms in (known.get("images"), str(filter)) if terms and terms != EVERYTHING)
        return known.without("images").with_values("images", [images])
    is_checked = comparison.gold_percent or comparison.repeat_percent
    settings = {
        "collection": comparison.collection.slug,
        "drawn": comparison.subset or EVERYTHING,
        "images": "+".join(terms for terms in (comparison.images, str(filter)) if terms) or EVERYTHING,
        "equal": comparison.equal_captions,
        "gold": comparison.gold_percent,
        "repeats": comparison.repeat_percent,
        "pause": f"{comparison.failures_percent}/{comparison.checks_before_pause}" if is_checked else None,
    }
    return Signature.of(NO_DESIGN.metric, settings)


def languages_shown(comparisons: Iterable[int]) -> dict[int, dict[int, set[str]]]:
    """Return in which languages each rater had the instructions, by comparison and person."""
    shown: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    batches = JudgingBatch.objects.filter(comparison__in=comparisons).exclude(instructions=None).order_by()
    rows = batches.values_list("comparison", "lease__person", "instructions_language").distinct()
    for comparison, person, language in rows:
        shown[comparison][person].add(language or ORIGINAL)
    return shown


class PairImageNames:
    """The names of images as files have them: their keys, or hashes where they left the collection. Read when asked."""

    def __init__(self, comparisons: Iterable[Comparison]) -> None:
        self._comparisons = list(comparisons)

    def of(self, collection_id: int, image: int) -> str:
        return self._keys.get((collection_id, image)) or self._hashes[image]

    @cached_property
    def _keys(self) -> dict[tuple[int, int], str]:
        entries = CollectionImage.objects.filter(
            collection__in={one.collection_id for one in self._comparisons}, image__in=self._images
        )
        rows = entries.order_by().values_list("collection", "image", "key")
        return {(collection, image): key for collection, image, key in rows}

    @cached_property
    def _hashes(self) -> dict[int, str]:
        return dict(Image.objects.filter(pk__in=self._images).order_by().values_list("pk", "sha256"))

    @property
    def _images(self) -> QuerySet[Any, Any]:
        comparisons = [one.pk for one in self._comparisons]
        return Pair.objects.filter(comparison__in=comparisons).order_by().values("image")
