"""Whether a picture is one that its sender has in hand: saved from a page, its file is not that of the original."""

from __future__ import annotations

import io
from typing import IO

from PIL import Image as Pillow
from PIL import ImageChops, ImageStat

from images.models import Image
from images.rules.derive import upright
from images.rules.sizes import SIZES
from images.services import files
from inference.exposure import assigned
from people.models import User

SIDE = 16
SAME_WITHIN = 6.0
"""Mean difference of the colours, of 255: compressing and scaling make 1 or 2, another photograph tens."""


def is_like_one_assigned(picture: IO[bytes], viewer: User) -> bool:
    """`picture` is one that can be read; images in hand of which no size was made yet are not looked at."""
    held = list(Image.objects.filter(assigned(viewer, "pk")).values_list("public_id", flat=True))
    if not held:
        return False
    look = _look(picture)
    shown = (files.read_size(public_id, min(SIZES)) for public_id in held)
    return any(_difference(look, _look(io.BytesIO(content))) <= SAME_WITHIN for content in shown if content)


def _look(picture: IO[bytes]) -> Pillow.Image:
    small = upright(picture, side=4 * SIDE).convert("RGB")
    return small.resize((SIDE, SIDE), Pillow.Resampling.BOX)


def _difference(one: Pillow.Image, other: Pillow.Image) -> float:
    bands = ImageStat.Stat(ImageChops.difference(one, other)).mean
    return sum(bands) / len(bands)
