"""Images that a collection waits for: other apps say what is known of them, and take their files in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.module_loading import import_string

from core.images.models import Collection, Image
from core.images.rules.manifests import ImageAttribution


@dataclass(frozen=True)
class ExpectedImage:
    """What is known of an image whose file was not there yet."""

    key: str
    """Its key in the collection."""
    checksum: str
    """Of the file as it was published, as algorithm:hexadecimal; "" if it is not known."""
    attribution: ImageAttribution
    take: Callable[[Image, str, bool], None]
    """Called with the image, the path of its file, and whether the image is new, in the transaction that stores it. May
    raise `ImageRefusedError`.
    """


Find = Callable[[Collection, Sequence[str], str], ExpectedImage | None]
"""From a collection, the keys that a file may have, and its path or the address that it was fetched from."""

_finders: list[str] = []


def register(name: str) -> None:
    """Register a `Find` by its dotted name, as it imports NumPy, which commands start without.

    It is called in the transaction that stores the image, and may raise `ImageRefusedError`.
    """
    _finders.append(name)


def expected_image(collection: Collection, keys: Sequence[str], address: str) -> ExpectedImage | None:
    for name in _finders:
        find: Find = import_string(name)
        expected = find(collection, keys, address)
        if expected is not None:
            return expected
    return None
