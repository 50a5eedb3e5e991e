"""Originals as models see them: upright, RGB, no larger than needed; decoded in threads, ahead of the device."""

from __future__ import annotations

import threading
from contextlib import nullcontext

from django.core.files.storage import default_storage
from django.utils.translation import gettext as _
from PIL import Image as Pillow

from images.rules.derive import upright
from inference.services.job_kind import PendingImage

LARGE_PIXELS = 16_000_000
_large = threading.Lock()
"""One large picture is decoded at a time: eight of 80 million pixels would take GB."""


class UnreadableImageError(Exception):
    """The picture cannot be read, and why."""


def picture_of(item: PendingImage, *, side: int | None) -> Pillow.Image:
    """
    Raises
    ------
    UnreadableImageError
    """
    return read_picture(item.picture, side=side, pixels=item.pixels)


def read_picture(name: str, *, side: int | None, pixels: int) -> Pillow.Image:
    """The picture of that name in storage; its shorter side is made as small as `side`.

    Raises
    ------
    UnreadableImageError
    """
    with _large if pixels > LARGE_PIXELS else nullcontext():
        try:
            with default_storage.open(name) as file:
                return upright(file, side=side)
        except FileNotFoundError as error:
            raise UnreadableImageError(_("Its file is gone from storage.")) from error
        except Exception as error:  # decoders raise nearly anything on a broken file
            raise UnreadableImageError(
                _("It cannot be read as a picture (%(error)s).") % {"error": type(error).__name__}
            ) from error
