"""Read named subsets for pages and the API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from core.people.models import Project
from research.selection.models import Subset
from research.selection.selectors.usage import ImagesUse, uses_by_subset


@dataclass(frozen=True)
class SubsetRow:
    """A subset with its number of images and what uses it."""

    subset: Subset
    size: int
    uses: Sequence[ImagesUse]


def subsets_of(project: Project) -> QuerySet[Subset]:
    """Return the subsets of a project by name."""
    return Subset.objects.filter(project=project).select_related("project", "created_by").order_by("name", "pk")


def rows_of(project: Project, subsets: Iterable[Subset]) -> list[SubsetRow]:
    subsets, uses = list(subsets), uses_by_subset(project)
    sizes: dict[int, int] = dict(
        Subset.objects.filter(pk__in=[subset.pk for subset in subsets])
        .order_by()
        .annotate(size=Count("images"))
        .values_list("pk", "size")
    )
    return [SubsetRow(subset, sizes[subset.pk], uses.get(subset.slug, [])) for subset in subsets]
