"""Decode originals as models see them: upright, RGB and no larger than needed."""

from __future__ import annotations

import threading
from contextlib import nullcontext

from django.core.files.storage import default_storage
from django.utils.translation import gettext as _
from PIL import Image as Pillow

from core.images.rules.resizing import decoded_upright

LARGE_PIXELS = 16_000_000
_large = threading.Lock()
"""Large images are decoded one at a time: eight of 80 million pixels would take gigabytes."""


class UnreadableImageError(Exception):
    """The image cannot be read; the message says why."""


def read_image(name: str, *, side: int | None, pixels: int) -> Pillow.Image:
    """Read the image of that name in storage, and reduce its shorter side to `side`.

    Raises
    ------
    UnreadableImageError
    """
    with _large if pixels > LARGE_PIXELS else nullcontext():
        try:
            with default_storage.open(name) as file:
                return decoded_upright(file, side=side)
        except FileNotFoundError as error:
            raise UnreadableImageError(_("Its file is missing from storage.")) from error
        except Exception as error:  # decoders raise nearly anything on a broken file
            raise UnreadableImageError(
                _("It cannot be read as an image (%(error)s).") % {"error": type(error).__name__}
            ) from error
