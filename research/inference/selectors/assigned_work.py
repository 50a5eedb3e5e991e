"""Find the images that are assigned to a person, in any kind of work.

A model's caption of an image must not reach somebody who is writing about that image, nor may somebody who compares two
captions read elsewhere which models wrote them. The kinds of work do not know each other, so each registers its own
query of assigned images here, and practice those whose right answers it shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import ngettext

from core.images.models import Collection, CollectionImage
from core.people.models import Project, User

ImageIdsQuery = Callable[[User], "QuerySet[Any, Any]"]
ExamplesQuery = Callable[[Project], "QuerySet[Any, Any]"]
_kinds: dict[str, tuple[ImageIdsQuery, ...]] = {}
_known: list[ImageIdsQuery] = []
_examples: list[ExamplesQuery] = []


def register(kind: str, *queries: ImageIdsQuery) -> None:
    """Register queries for the primary keys of assigned images; call this when the app `kind` is ready."""
    _kinds[kind] = queries


def is_assigned(person: User, image: str, *, besides: str = "") -> Q:
    """Build the condition that the image at the path `image` is assigned to `person`, in any kind but `besides`."""
    condition = Q(pk__in=[])
    for kind, queries in _kinds.items():
        for assigned_ids in queries if kind != besides else ():
            condition |= Q(**{f"{image}__in": assigned_ids(person)})
    return condition


def register_known(of_person: ImageIdsQuery, of_project: ExamplesQuery) -> None:
    """Register images that must not come to a person as work, and those that come to nobody in a project."""
    _known.append(of_person)
    _examples.append(of_project)


def is_kept_from(person: User, image: str, *, besides: str) -> Q:
    """Build the condition that `person` must not get work on the image at the path `image`.

    It is assigned to them in another kind of work than `besides`, or practice shows them right answers about it.
    """
    condition = is_assigned(person, image, besides=besides)
    for known_ids in _known:
        condition |= Q(**{f"{image}__in": known_ids(person)})
    return condition


def warning_of_examples(project: Project, *collections: Collection | int) -> str:
    """Say how many images of `collections` come to nobody in `project`; return an empty text if there are none."""
    entries = CollectionImage.objects.filter(collection__in=collections)
    count = sum(
        entries.filter(image__in=example_ids(project)).values("image").distinct().count() for example_ids in _examples
    )
    if not count:
        return ""
    return ngettext(
        "%(number)d image of the collection is a practice example in this project. Nobody gets it as work. To have "
        "it done, replace the example first.",
        "%(number)d images of the collection are practice examples in this project. Nobody gets them as work. To have "
        "them done, replace the examples first.",
        count,
    ) % {"number": count}
