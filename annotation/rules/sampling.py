"""Which images a round samples and which captions are verified: drawn from values alone, the same in any database."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

SHUFFLE_KEYS = 2**31


@dataclass(frozen=True)
class DrawnCaption:
    """A caption (by its primary key) to be rated, and its place in the order of assignment."""

    caption: int
    shuffle_key: int


def draw_images(images: Mapping[str, int], *, seed: int, size: int, last: Collection[int] = ()) -> list[int]:
    """Draw `size` of `images` (primary keys by the image's key), those in `last` only if there are too few others.

    Each image draws on its own, so that drawing can continue: leave out those already drawn, ask for as many fewer, and
    the rest comes out.
    """
    later = frozenset(last)
    in_order = sorted(images, key=lambda key: (images[key] in later, random.Random(f"{seed}:{key}").random(), key))
    return [images[key] for key in in_order[:size]]


def draw_captions(
    captions: Mapping[str, Sequence[int]], *, seed: int, size: int | None, kept: Collection[int] = ()
) -> list[DrawnCaption]:
    """Draw one caption of each of `size` images, or all captions if `size` is None, in the order of the images' keys.

    Each image draws on its own, from the seed and its key: adding or removing images changes no other draw.

    - `captions`: by the key of the image, in an order that does not hang on the database.
    - `kept`: captions drawn before. Those still among `captions` stay, before any other of theirs or of another image.
    """
    if size is None:
        return [_drawn(seed, f"{key}:{n}", [pk]) for key in sorted(captions) for n, pk in enumerate(captions[key])]
    among = {key: [pk for pk in pks if pk in kept] or pks for key, pks in captions.items() if pks}
    is_new = {key: not any(pk in kept for pk in pks) for key, pks in among.items()}
    in_order = sorted(among, key=lambda key: (is_new[key], random.Random(f"{seed}:{key}").random(), key))
    return [_drawn(seed, key, among[key]) for key in sorted(in_order[:size])]


def _drawn(seed: int, name: str, captions: Sequence[int]) -> DrawnCaption:
    draw = random.Random(f"{seed}:caption:{name}")
    return DrawnCaption(caption=draw.choice(captions), shuffle_key=draw.randrange(SHUFFLE_KEYS))
