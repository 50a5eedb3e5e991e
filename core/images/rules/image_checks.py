"""Check uploaded image files, and what decoding them would take. Nothing that a file says about itself is trusted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from django.utils.translation import gettext as _
from PIL import Image as Pillow
from PIL.TiffTags import TAGS_V2

from core.images.rules import exif, limits
from geography.places import CoordinateFault

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


SUFFIXES = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "TIFF": (".tif", ".tiff"),
    "GIF": (".gif",),
}
HEAD_BYTES = 512


class ImageRefusedError(Exception):
    """The file is refused; the message tells its owner why and what to do."""


@dataclass(frozen=True)
class ImageFacts:
    """Facts of an image that was decoded to its last pixel. `width` and `height` are in pixels, upright."""

    format: str
    width: int
    height: int
    position: tuple[float, float] | CoordinateFault | None = None
    author: str = ""


def check_name(file: IO[bytes], *, name: str, size_bytes: int) -> str:
    """Check the name, size and first bytes of `file` (seekable); returns the kind of image.

    Raises ImageRefusedError if it is empty, too large, of a kind that is not accepted, or named as another kind.
    """
    if size_bytes == 0:
        raise ImageRefusedError(_("The file is empty. Export or copy it again."))
    if size_bytes > limits.MAX_IMAGE_BYTES:
        raise ImageRefusedError(
            _("The file has %(megabytes)s MB; at most %(limit)s MB are allowed. Save a smaller version.")
            % {"megabytes": round(size_bytes / 10**6, 1), "limit": limits.MAX_IMAGE_BYTES // 10**6}
        )
    return _kind_of(file, name)


def inspect(file: IO[bytes], *, name: str, size_bytes: int) -> ImageFacts:
    """Check and decode the image in `file` (seekable) completely.

    Raises ImageRefusedError for the reasons of `check_name`, or if it has too many pixels or is broken.
    """
    kind = check_name(file, name=name, size_bytes=size_bytes)
    with warnings.catch_warnings():
        # Up to twice its limit, Pillow only warns of a decompression bomb; its other warnings help nobody here.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Pillow.DecompressionBombWarning)
        _check_pixels(file, kind)
        return _decode(file, kind)


def _kind_of(file: IO[bytes], name: str) -> str:
    file.seek(0)
    head = file.read(HEAD_BYTES)
    kind = image_kind(head)
    if kind is None:
        text = _("This is %(what)s. Convert it to JPEG, PNG, WebP, TIFF or GIF.")
        raise ImageRefusedError(text % {"what": _described(head)})
    suffix = PurePosixPath(name).suffix.lower()
    if suffix and suffix not in SUFFIXES[kind]:
        raise ImageRefusedError(
            _("The name ends in “%(suffix)s”, but the content is %(kind)s. Rename it to “%(right)s”.")
            % {
                "suffix": suffix,
                "kind": _shown(kind),
                "right": PurePosixPath(name).with_suffix(SUFFIXES[kind][0]).name,
            }
        )
    return kind


def image_kind(head: bytes) -> str | None:
    """Name the kind of image that begins with these bytes, as Pillow does, or None."""
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return "TIFF"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "GIF"
    return None


def _shown(kind: str) -> str:
    return "WebP" if kind == "WEBP" else kind


def _described(head: bytes) -> str:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        return _("an AVIF image") if brand in (b"avif", b"avis") else _("a HEIC image or a video")
    if b"<svg" in text:
        return _("an SVG drawing")
    if text.startswith((b"<!doctype html", b"<html")):
        return _("a web page (perhaps an error page that was downloaded instead of the image)")
    for start, description in (
        (b"%PDF", _("a PDF document")),
        (b"BM", _("a BMP image")),
        (b"PK\x03\x04", _("a zip file or an office document")),
        (b"8BPS", _("a Photoshop document")),
    ):
        if head.startswith(start):
            return description
    return _("not a known image format, or a broken image")


def _check_pixels(file: IO[bytes], kind: str) -> None:
    """Refuse a decompression bomb from its header, before anything is decoded."""
    too_many = _("The image has more than %(limit)s million pixels. Save a smaller version.") % {
        "limit": limits.MAX_IMAGE_PIXELS // 10**6
    }
    try:
        scans = scans_of(file) if kind == "JPEG" else 1
        file.seek(0)
        with Pillow.open(file, formats=[kind]) as image:
            width, height = image.size
            needed = bytes_to_decode(image, scans=scans)
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise ImageRefusedError(too_many) from error
    except Exception as error:  # decoders raise nearly anything on a broken file
        raise _broken(kind) from error
    if width * height > limits.MAX_IMAGE_PIXELS or max(width, height) > limits.MAX_IMAGE_SIDE:
        raise ImageRefusedError(too_many)
    if width < 1 or height < 1:
        raise _broken(kind)
    if needed > limits.MAX_DECODED_BYTES:
        most = int(width * height * limits.MAX_DECODED_BYTES / needed / 10**6)
        reason = _(
            "The image has %(pixels)s million pixels; at most %(limit)s are allowed for this kind of "
            "%(kind)s, which needs much memory. Save a smaller version or a plain JPEG."
        )
        raise ImageRefusedError(reason % {"pixels": width * height // 10**6, "limit": most, "kind": _shown(kind)})
    if scans > limits.MAX_SCANS:
        reason = _("The JPEG has more than %(limit)s passes. Save it as a plain JPEG.")
        raise ImageRefusedError(reason % {"limit": limits.MAX_SCANS})


def _decode(file: IO[bytes], kind: str) -> ImageFacts:
    try:
        if kind == "PNG":
            # Decoding alone skips the checksums.
            file.seek(0)
            with Pillow.open(file, formats=[kind]) as image:
                image.verify()
        file.seek(0)
        with Pillow.open(file, formats=[kind]) as image:
            width, height = image.size
            # Of a JPEG every byte is read all the same, and no more than an eighth of its width and height kept.
            image.draft(None, (max(1, width // 8), max(1, height // 8)))
            image.load()
            tags = exif.exif_of(image)
    except Exception as error:  # decoders raise nearly anything on a broken file
        raise _broken(kind) from error
    if exif.is_sideways(tags):
        width, height = height, width
    return ImageFacts(kind, width, height, exif.position_of(tags), exif.author_of(tags))


def _broken(kind: str) -> ImageRefusedError:
    return ImageRefusedError(
        _("The %(kind)s is broken or incomplete and cannot be read to its end. Export or copy it again.")
        % {"kind": kind}
    )
