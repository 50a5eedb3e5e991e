"""Texts inside an image file, and the same image without them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from typing import IO, Any

from PIL import Image as Pillow
from PIL import ImageOps
from PIL.ExifTags import IFD, Base

from core.images.rules.exif import exif_of

JPEG_QUALITY = 95
"""Used if the tables of the original cannot be used again."""

NOT_WORDS = frozenset({"icc_profile", "exif", "transparency", "background", "mp"})
"""Pillow's metadata that is colours and numbers, or (EXIF) is read tag by tag."""

PNG_MODES = frozenset({"1", "L", "LA", "RGB", "RGBA", "I;16"})
IFDS = (IFD.Exif, IFD.GPSInfo, IFD.Interop, IFD.IFD1)
CODES = ("utf-8", "utf-16-le", "utf-16-be", "latin-1")
MAX_TEXT_CHARACTERS = 1_000_000


def words_beside(file: IO[bytes], *, kind: str) -> str:
    """Return all texts of the file: EXIF, XMP, IPTC, comments, PNG texts, one a line."""
    with _quietly():
        file.seek(0)
        with Pillow.open(file, formats=[kind]) as image:
            with suppress(Exception):  # texts may follow the pixels, which were read before, when the image was stored
                image.load()
            values = [*_beside(image), *_tags(exif_of(image))]
    return "\n".join(text for value in values for text in _texts(value))[:MAX_TEXT_CHARACTERS]


def stripped_image(file: IO[bytes], *, kind: str) -> tuple[bytes, str]:
    """Return the image without any texts, and the ending of its file name. The same file gives the same bytes."""
    with _quietly():
        file.seek(0)
        with Pillow.open(file, formats=[kind]) as image:
            if kind == "JPEG":
                return _jpeg(image), ".jpg"
            return _png(image), ".png"


def _jpeg(image: Pillow.Image) -> bytes:
    image.load()
    upright = Pillow.Exif()
    upright[Base.Orientation] = exif_of(image).get(Base.Orientation, 1)
    options: dict[str, Any] = {"exif": upright, "icc_profile": image.info.get("icc_profile")}
    image.info = {}
    output = io.BytesIO()
    if image.format == "JPEG":
        image.save(output, "JPEG", quality="keep", **options)
    else:  # several images in one file, of which this is the first
        image.save(output, "JPEG", quality=JPEG_QUALITY, **options)
    return output.getvalue()


def _png(image: Pillow.Image) -> bytes:
    image.load()
    profile = image.info.get("icc_profile")
    pixels = image.convert("RGBA") if image.mode == "P" and image.has_transparency_data else image
    ImageOps.exif_transpose(pixels, in_place=True)
    if pixels.mode not in PNG_MODES:
        profile = profile if image.mode == "P" else None  # it described the colours before conversion
        pixels = pixels.convert("RGB")
    # Pillow would copy it. A new image would avoid that too, but take as much memory again.
    pixels.info = {}
    output = io.BytesIO()
    pixels.save(output, "PNG", icc_profile=profile)
    return output.getvalue()


def _beside(image: Pillow.Image) -> Iterator[Any]:
    for name, value in image.info.items():
        if name not in NOT_WORDS:
            yield from (name, value)
    for _marker, segment in getattr(image, "applist", ()):
        if not segment.startswith((b"ICC_PROFILE", b"Exif\0")):
            yield segment
    yield from _readable(getattr(image, "tag_v2", None) or {})


def _tags(exif: Pillow.Exif) -> Iterator[Any]:
    yield from _readable(exif)
    for ifd in IFDS:
        with suppress(Exception):  # the image can be valid although its metadata is not
            yield from _readable(exif.get_ifd(ifd))


def _readable(tags: MutableMapping[int, Any]) -> list[Any]:
    values = []
    for tag in list(tags):
        with suppress(Exception):
            values.append(tags[tag])
    return values


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        with suppress(UnicodeError):  # Pillow reads bytes that may be UTF-8 as Latin-1
            yield value.encode("latin-1").decode()
    elif isinstance(value, bytes):
        # The encoding is unknown, so each reading is returned; wrong readings contain no word.
        for code in CODES:
            yield value.decode(code, "ignore")
            if code.startswith("utf-16"):
                yield value[1:].decode(code, "ignore")
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple | set):
        for inner in value:
            yield from _texts(inner)


def _quietly() -> warnings.catch_warnings[None]:
    return warnings.catch_warnings(action="ignore")
