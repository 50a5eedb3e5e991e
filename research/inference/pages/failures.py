"""Prepare the failures of a run with their images, without images assigned to the viewer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from core.images.models import CollectionImage
from research.inference.models import Run, RunFailure
from research.inference.selectors.runs import reasons_of


@dataclass(frozen=True)
class FailuresPage:
    lines: Sequence[tuple[RunFailure, str]]
    """With the key of the image, empty where it has left the collection."""
    reasons: Sequence[tuple[str, int]]
    assigned: int
    """How many are of images that the viewer works on; they are not shown."""


def failures_page(run: Run, page: Iterable[RunFailure], shown: QuerySet[RunFailure]) -> FailuresPage:
    failures = list(page)
    entries = CollectionImage.objects.filter(
        collection=run.collection_id, image__in=[failure.image_id for failure in failures]
    )
    keys = dict(entries.values_list("image_id", "key"))
    return FailuresPage(
        lines=[(failure, keys.get(failure.image_id, "")) for failure in failures],
        reasons=reasons_of(shown),
        assigned=max(0, run.failures.count() - shown.count()),
    )
