"""Which images a round has where it does not have all: drawn from values alone, the same in every database."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping


def draw_images(images: Mapping[str, int], *, seed: int, size: int, last: Collection[int] = ()) -> list[int]:
    """`size` of `images` (primary keys by the image's key), those in `last` only where there are too few others.

    Every image draws for itself, so that drawing goes on where it stopped: without those drawn already and for as many
    fewer, the rest comes out.
    """
    later = frozenset(last)
    in_order = sorted(images, key=lambda key: (images[key] in later, random.Random(f"{seed}:{key}").random(), key))
    return [images[key] for key in in_order[:size]]
