"""Estimate from an image's header how much memory and time it takes to decode."""

from __future__ import annotations

from typing import IO

from PIL import Image as Pillow
from PIL.TiffTags import TAGS_V2

from core.images.rules import limits

BYTES_PER_PIXEL = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2, "I;16N": 2}
"""As Pillow keeps pixels in memory; four in every other mode."""

WEBP_BYTES_PER_PIXEL = 16
"""A frame, the one before it, a copy of the bytes, and the image that is made of them."""

COEFFICIENT_BYTES = 2
_TAGS = {tag.name: number for number, tag in TAGS_V2.items()}
_UNCOMPRESSED = "raw"
_START_OF_SCAN, _END_OF_IMAGE, _FILL = 0xDA, 0xD9, 0xFF
_WITHOUT_LENGTH = {0x00, 0x01, *range(0xD0, 0xD9), _FILL}


def bytes_to_decode(image: Pillow.Image, *, scans: int = 1) -> int:
    """Estimate the peak memory of decoding and resizing the image; a JPEG is decoded at a reduced size."""
    pixels = image.width * image.height
    if image.format == "WEBP":
        return WEBP_BYTES_PER_PIXEL * pixels
    if image.format in ("JPEG", "MPO"):
        return pixels + (_coefficients(image) if scans > 1 else 0)
    decoded = BYTES_PER_PIXEL.get(image.mode, 4) * pixels
    return decoded + (_strip(image) if image.format == "TIFF" else 0)


def scans_of(file: IO[bytes]) -> int:
    """Count the scans of a JPEG, up to the limit: thousands of scans take hours.

    A JPEG of one scan is decoded line by line; any other keeps all its coefficients to the last.
    """
    file.seek(0)
    content = file.read()
    scans, at = 0, 2
    while scans <= limits.MAX_SCANS and 0 <= (at := content.find(b"\xff", at)) < len(content) - 3:
        marker = content[at + 1]
        if marker == _END_OF_IMAGE:
            break
        if marker in _WITHOUT_LENGTH:
            at += 1 if marker == _FILL else 2
            continue
        scans += marker == _START_OF_SCAN
        at += 2 + int.from_bytes(content[at + 2 : at + 4])
    return scans


def _coefficients(image: Pillow.Image) -> int:
    layers: list[tuple[int, int, int, int]] = getattr(image, "layer", [])
    most = max((across * down for _number, across, down, _table in layers), default=1)
    samples = sum(across * down for _number, across, down, _table in layers) / most
    return round(COEFFICIENT_BYTES * samples * image.width * image.height)


def _strip(image: Pillow.Image) -> int:
    """Bytes that libtiff unpacks at once: a strip or a tile, which may be the whole image."""
    tags = getattr(image, "tag_v2", {})
    if all(tile[0] == _UNCOMPRESSED for tile in getattr(image, "tile", [])):
        return 0
    width = tags.get(_TAGS["TileWidth"], image.width)
    height = tags.get(_TAGS["TileLength"], min(tags.get(_TAGS["RowsPerStrip"], image.height), image.height))
    return int(width) * int(height) * sum(tags.get(_TAGS["BitsPerSample"], (8,))) // 8
