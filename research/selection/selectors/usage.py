"""What uses the images of a selection, or a named subset: apps above register here, so that what is in use stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from core.images.models import Collection
from core.people.models import Project
from research.selection.models import Subset


@dataclass(frozen=True)
class ImagesUse:
    """Something that takes its images from a collection or subset. `has_begun` once people may have seen them."""

    title: str
    address: str
    has_begun: bool


Uses = Callable[[Iterable[Collection]], Iterable[ImagesUse]]
SubsetUses = Callable[[Project], Iterable[tuple[str, ImagesUse]]]
"""Of all subsets of a project: their slugs with what uses them."""
_uses: list[Uses] = []
_subset_uses: list[SubsetUses] = []


def register(uses: Uses) -> None:
    """Register what uses collections. Call it when the app is ready."""
    _uses.append(uses)


def register_for_subsets(uses: SubsetUses) -> None:
    """Register what uses named subsets. Call it when the app is ready."""
    _subset_uses.append(uses)


def uses_of(collections: Iterable[Collection]) -> list[ImagesUse]:
    return [use for uses in _uses for use in uses(collections)]


def are_in_use(collections: Iterable[Collection]) -> bool:
    """Return whether work on the images of any of `collections` has begun."""
    return any(use.has_begun for use in uses_of(collections))


def uses_by_subset(project: Project) -> dict[str, list[ImagesUse]]:
    """Return what uses the subsets of a project, by slug."""
    found: dict[str, list[ImagesUse]] = defaultdict(list)
    for uses in _subset_uses:
        for slug, use in uses(project):
            found[slug].append(use)
    return found


def uses_of_subset(subset: Subset) -> list[ImagesUse]:
    return uses_by_subset(subset.project)[subset.slug]
