"""Read the position, orientation and author from an image's EXIF block."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from PIL import Image as Pillow
from PIL.ExifTags import GPS, IFD, Base

from geography.places import CoordinateFault, fault_of

SIDEWAYS = {5, 6, 7, 8}
"""Values of the orientation tag that swap width and height."""

MAX_AUTHOR_CHARACTERS = 500


def exif_of(image: Pillow.Image) -> Pillow.Exif:
    try:
        return image.getexif()
    except Exception:  # an image can be sound where what is said about it is not
        return Pillow.Exif()


def is_sideways(exif: Pillow.Exif) -> bool:
    return exif.get(Base.Orientation) in SIDEWAYS


def position_of(exif: Pillow.Exif) -> tuple[float, float] | CoordinateFault | None:
    """Read (degrees north, degrees east), or what is wrong with them; None if there are none.

    Cameras without a fix write 0, 0 or 0/0.
    """
    try:
        tags = exif.get_ifd(IFD.GPSInfo)
        parts = tags[GPS.GPSLatitude], tags[GPS.GPSLongitude]
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        return None
    try:
        latitude = _degrees(parts[0], tags[GPS.GPSLatitudeRef], positive="N", negative="S")
        longitude = _degrees(parts[1], tags[GPS.GPSLongitudeRef], positive="E", negative="W")
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        return CoordinateFault.NOT_A_NUMBER
    return fault_of(latitude, longitude) or (round(latitude, 7), round(longitude, 7))


def author_of(exif: Pillow.Exif) -> str:
    """Read the artist, else the copyright line, else ""."""
    return _text(exif.get(Base.Artist)) or _text(exif.get(Base.Copyright))


def _degrees(parts: Any, reference: Any, *, positive: str, negative: str) -> float:
    degrees, minutes, seconds = (float(part) for part in parts)
    if (
        not all(math.isfinite(part) and part >= 0 for part in (degrees, minutes, seconds))
        or minutes >= 60
        or seconds >= 60
    ):
        raise ValueError("no angle")
    sign = {positive: 1, negative: -1}[_text(reference).upper()]
    return sign * (degrees + minutes / 60 + seconds / 3600)


def _text(value: Any) -> str:
    """Decode a text. EXIF demands ASCII; programs write UTF-8 or Latin-1, with NUL as padding and between names."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            value = value.decode("latin-1")
    if not isinstance(value, str):
        return ""
    first = value.split("\0")[0]
    # Pillow reads the bytes as Latin-1.
    with suppress(UnicodeError):
        first = first.encode("latin-1").decode()
    return "".join(character for character in first if character.isprintable()).strip()[:MAX_AUTHOR_CHARACTERS]
