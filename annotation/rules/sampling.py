"""Which images a round samples: drawn from values alone, the same in every database."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping


def draw_images(images: Mapping[str, int], *, seed: int, size: int, last: Collection[int] = ()) -> list[int]:
    """Draw `size` of `images` (primary keys by the image's key), those in `last` only if there are too few others.

    Each image draws on its own, so that drawing can continue: leave out those already drawn, ask for as many fewer, and
    the rest comes out.
    """
    later = frozenset(last)
    in_order = sorted(images, key=lambda key: (images[key] in later, random.Random(f"{seed}:{key}").random(), key))
    return [images[key] for key in in_order[:size]]
