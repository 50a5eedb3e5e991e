"""Small real images, made by Pillow."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from PIL import Image as Pillow
from PIL import ImageCms


def image_file(kind: str = "JPEG", *, mode: str = "RGB", size: tuple[int, int] = (64, 48), **options: Any) -> bytes:
    """An image whose left half is darker than its right; `shade` makes it another one."""
    shade = options.pop("shade", 0)
    dots = Pillow.new("L", size, 40 + shade)
    dots.paste(200, (size[0] // 2, 0, size[0], size[1]))
    output = io.BytesIO()
    dots.convert(mode).save(output, kind, **options)
    return output.getvalue()


def exif(orientation: int = 1, **more: Any) -> Pillow.Exif:
    tags = Pillow.Exif()
    tags[0x0112] = orientation
    tags[0x010E] = "SECRET-DESCRIPTION"
    if "artist" in more:
        tags[0x013B] = more["artist"]
    if "copyright" in more:
        tags[0x8298] = more["copyright"]
    if "gps" in more:
        (north, latitude), (east, longitude) = more["gps"]
        tags.get_ifd(0x8825).update({1: north, 2: latitude, 3: east, 4: longitude})
    return tags


def profile() -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def animation() -> bytes:
    frames = [Pillow.new("RGB", (40, 30), colour) for colour in ("red", "blue")]
    output = io.BytesIO()
    frames[0].save(output, "GIF", save_all=True, append_images=frames[1:], comment=b"SECRET-COMMENT")
    return output.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header claims `width` × `height` pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    sound = image_file("PNG", size=(5, 5))
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    return sound[:8] + chunk + sound[33:]
