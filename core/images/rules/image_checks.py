"""Check uploaded image files. Nothing that a file says about itself is trusted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from django.utils.translation import gettext as _
from PIL import Image as Pillow

from core.images.rules import exif, limits
from core.images.rules.decoding import bytes_to_decode, scans_of
from geography.places import CoordinateFault

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

    Raises
    ------
    ImageRefusedError
        If it is empty, too large, of a kind that is not accepted, or named as another kind.
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

    Raises
    ------
    ImageRefusedError
        For the reasons of `check_name`, or if it has too many pixels or is broken.
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
        raise ImageRefusedError(
            _("This is %(what)s. Convert it to JPEG, PNG, WebP, TIFF or GIF.") % {"what": _described(head)}
        )
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
