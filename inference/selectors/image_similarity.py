"""Recognise an uploaded image that is assigned to its sender: saved from a page, it is not the original file."""

from __future__ import annotations

import io
from typing import IO

from PIL import Image as Pillow
from PIL import ImageChops, ImageStat

from images.models import Image
from images.rules.resizing import upright
from images.rules.sizes import SIZES
from images.services import file_storage
from inference.selectors.assigned_work import is_assigned
from people.models import User

SIDE = 16
SAME_WITHIN = 6.0
"""Mean difference of the colours, of 255: compression and scaling make 1 or 2, another image tens."""


def resembles_assigned_image(upload: IO[bytes], viewer: User) -> bool:
    """Compare a readable image with those assigned to `viewer`, except those without served sizes yet."""
    assigned_ids = list(Image.objects.filter(is_assigned(viewer, "pk")).values_list("public_id", flat=True))
    if not assigned_ids:
        return False
    thumbnail = _thumbnail(upload)
    served = (file_storage.read_size(public_id, min(SIZES)) for public_id in assigned_ids)
    return any(_difference(thumbnail, _thumbnail(io.BytesIO(file))) <= SAME_WITHIN for file in served if file)


def _thumbnail(file: IO[bytes]) -> Pillow.Image:
    small = upright(file, side=4 * SIDE).convert("RGB")
    return small.resize((SIDE, SIDE), Pillow.Resampling.BOX)


def _difference(one: Pillow.Image, other: Pillow.Image) -> float:
    bands = ImageStat.Stat(ImageChops.difference(one, other)).mean
    return sum(bands) / len(bands)
