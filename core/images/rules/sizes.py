"""The sizes in which images are served, and their dimensions."""

from __future__ import annotations

SIZES = (320, 800, 1600)
"""Longest side in pixels of what is served. The original is never sent to a browser."""


def sizes_of(width: int, height: int) -> dict[int, tuple[int, int]]:
    """Compute the sizes of an image, as {size: (width, height)} in pixels, from small to large.

    An image is never enlarged, and no size is made that would equal the one below it.
    """
    longest = max(width, height)
    made = {}
    below = 0
    for size in SIZES:
        if longest <= below:
            break
        scale = min(1.0, size / longest)
        made[size] = max(1, round(width * scale)), max(1, round(height * scale))
        below = size
    return made
