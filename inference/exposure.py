"""Which images a person has in their hands, in whatever kind of work.

What models say of an image that somebody is writing about must not reach them through another kind of work: screen 2
would no longer be without it. Nor may who judges two captions read elsewhere whose they are. The kinds of work do not
know each other, so each says here what is in hand with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet

from people.models import User

ImagesInHand = Callable[[User], "QuerySet[Any, Any]"]
_kinds: dict[str, tuple[ImagesInHand, ...]] = {}


def register(kind: str, *assigned_images: ImagesInHand) -> None:
    """Each of `assigned_images` gives a query of primary keys of images; call this when the app `kind` is ready."""
    _kinds[kind] = assigned_images


def assigned(person: User, image: str, *, besides: str = "") -> Q:
    """That the image at the path `image` is in the hands of `person`, in any kind of work but `besides`."""
    found = Q(pk__in=[])
    for kind, queries in _kinds.items():
        for assigned_images in queries if kind != besides else ():
            found |= Q(**{f"{image}__in": assigned_images(person)})
    return found
