"""Read named subsets for pages and the API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from corpora.models import Subset
from corpora.selectors.subsets import keys_by_image
from corpora.selectors.usage import Use, uses_by_subset
from images.models import Image
from images.selectors import ServedImage, served_image
from people.models import Project, User


@dataclass(frozen=True)
class SubsetRow:
    """A subset with its number of images and what uses it."""

    subset: Subset
    size: int
    uses: Sequence[Use]


@dataclass(frozen=True)
class SubsetImage:
    """An image of a subset. `key` is empty if no collection of the project has it any more."""

    image: Image
    served: ServedImage
    key: str


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


def shown_images(subset: Subset, images: Sequence[Image], viewer: User) -> list[SubsetImage]:
    keys = keys_by_image(subset.project, [image.pk for image in images])
    return [SubsetImage(image, served_image(image, viewer), keys.get(image.pk, "")) for image in images]
