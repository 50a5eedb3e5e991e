"""What a file with a picture says in words, and the same picture without them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from typing import IO, Any

from PIL import Image as Pillow
from PIL import ImageOps
from PIL.ExifTags import IFD, Base

from images.rules.exif import exif_of

JPEG_QUALITY = 95
"""Where the tables of the original cannot be used again."""

NOT_WORDS = frozenset({"icc_profile", "exif", "transparency", "background", "mp"})
"""What Pillow keeps beside a picture that is colours and numbers, or (EXIF) is read tag by tag."""

PNG_MODES = frozenset({"1", "L", "LA", "RGB", "RGBA", "I;16"})
IFDS = (IFD.Exif, IFD.GPSInfo, IFD.Interop, IFD.IFD1)
CODES = ("utf-8", "utf-16-le", "utf-16-be", "latin-1")
LONGEST_TEXT = 1_000_000


def words_beside(file: IO[bytes], *, kind: str) -> str:
    """All that the file says in letters: EXIF, XMP, IPTC, comments, texts of a PNG, a line for each."""
    with _quietly():
        file.seek(0)
        with Pillow.open(file, formats=[kind]) as picture:
            with suppress(Exception):  # texts may follow the pixels, which were read before by who took the picture
                picture.load()
            values = [*_beside(picture), *_tags(exif_of(picture))]
    return "\n".join(text for value in values for text in _texts(value))[:LONGEST_TEXT]


def stripped(file: IO[bytes], *, kind: str) -> tuple[bytes, str]:
    """The picture without any words, and the ending that a name of it takes. The same file gives the same bytes."""
    with _quietly():
        file.seek(0)
        with Pillow.open(file, formats=[kind]) as picture:
            if kind == "JPEG":
                return _jpeg(picture), ".jpg"
            return _png(picture), ".png"


def _jpeg(picture: Pillow.Image) -> bytes:
    picture.load()
    upright = Pillow.Exif()
    upright[Base.Orientation] = exif_of(picture).get(Base.Orientation, 1)
    options: dict[str, Any] = {"exif": upright, "icc_profile": picture.info.get("icc_profile")}
    picture.info = {}
    output = io.BytesIO()
    if picture.format == "JPEG":
        picture.save(output, "JPEG", quality="keep", **options)
    else:  # several pictures in one file, of which this is the first
        picture.save(output, "JPEG", quality=JPEG_QUALITY, **options)
    return output.getvalue()


def _png(picture: Pillow.Image) -> bytes:
    picture.load()
    profile = picture.info.get("icc_profile")
    pixels = picture.convert("RGBA") if picture.mode == "P" and picture.has_transparency_data else picture
    ImageOps.exif_transpose(pixels, in_place=True)
    if pixels.mode not in PNG_MODES:
        profile = profile if picture.mode == "P" else None  # it was for the colours before
        pixels = pixels.convert("RGB")
    # What Pillow would carry along of it. A fresh picture would do too, and take as much memory again.
    pixels.info = {}
    output = io.BytesIO()
    pixels.save(output, "PNG", icc_profile=profile)
    return output.getvalue()


def _beside(picture: Pillow.Image) -> Iterator[Any]:
    for name, value in picture.info.items():
        if name not in NOT_WORDS:
            yield from (name, value)
    for _marker, segment in getattr(picture, "applist", ()):
        if not segment.startswith((b"ICC_PROFILE", b"Exif\0")):
            yield segment
    yield from _readable(getattr(picture, "tag_v2", None) or {})


def _tags(exif: Pillow.Exif) -> Iterator[Any]:
    yield from _readable(exif)
    for ifd in IFDS:
        with suppress(Exception):  # a picture can be sound where what is said about it is not
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
        # Nothing says how it is written: each reading is given, and what is wrong in all of them is no word.
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
