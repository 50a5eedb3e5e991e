"""Find the images that are assigned to a person, in any kind of work.

A model's caption of an image must not reach somebody who is writing about that image, nor may somebody who compares two
captions read elsewhere which models wrote them. The kinds of work do not know each other, so each registers its own
query of assigned images here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet

from people.models import User

ImageIdsQuery = Callable[[User], "QuerySet[Any, Any]"]
_kinds: dict[str, tuple[ImageIdsQuery, ...]] = {}


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
