"""What uses the images of a selection: apps above register here, so that images that people work on stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from images.models import Collection


@dataclass(frozen=True)
class Use:
    """Something that takes its images from a collection. `has_begun` once people may have seen them."""

    title: str
    address: str
    has_begun: bool


Uses = Callable[[Collection], Iterable[Use]]
_uses: list[Uses] = []


def register(uses: Uses) -> None:
    """Register what uses a collection. Call it when the app is ready."""
    _uses.append(uses)


def uses_of(collection: Collection) -> list[Use]:
    return [use for uses in _uses for use in uses(collection)]


def is_in_use(collection: Collection) -> bool:
    """Return whether work on the images of `collection` has begun."""
    return any(use.has_begun for use in uses_of(collection))
