"""Where images were taken, which nobody is told unless a manager chooses to publish it."""

from __future__ import annotations

import io

from PIL import Image as Pillow

from core.images.models import Image
from tests.leaks.answers import Secrets
from tests.selection.placing import place

LATITUDE, LONGITUDE = 17.38524, 78.48719
ELSEWHERE = (17.9137, 79.5143)
"""In the same country and region."""

IN_DEGREES_MINUTES_SECONDS = ((17.0, 23.0, 6.864), (78.0, 29.0, 13.884))
GPS, DESCRIPTION = 0x8825, 0x010E
WORDS = {
    **dict.fromkeys(("17.385", "78.487", "23.0, 6.864", "29.0, 13.884"), "a place, to a hundred metres"),
    **dict.fromkeys(("17.39,78.49", "17.39, 78.49", "17.39 78.49", "78.49,17.39"), "a place, to a kilometre"),
}


def place_all() -> None:
    """Give every image coordinates, of which its place was looked up."""
    for image in Image.objects.all():
        place(image, "IN", "IN-TG", latitude=LATITUDE, longitude=LONGITUDE)
    Image.objects.update(latitude=LATITUDE, longitude=LONGITUDE)


def move_all() -> None:
    """Move every image to another point of its region, as if it had always been there."""
    for image in Image.objects.all():
        place(image, "IN", "IN-TG", latitude=ELSEWHERE[0], longitude=ELSEWHERE[1])
    Image.objects.update(latitude=ELSEWHERE[0], longitude=ELSEWHERE[1])


def original_of(text: str) -> bytes:
    """Make a photo that says in its metadata where it was taken, and `text`."""
    original, exif = io.BytesIO(), Pillow.Exif()
    exif[DESCRIPTION] = text.encode("ascii", "replace").decode()
    north, east = IN_DEGREES_MINUTES_SECONDS
    exif.get_ifd(GPS).update({1: "N", 2: north, 3: "E", 4: east})
    Pillow.new("RGB", (640, 480), "teal").save(original, "JPEG", exif=exif, comment=text.encode())
    return original.getvalue()


def secrets() -> Secrets:
    """Return the coordinates alone; `change` moves the images, so that dots on a map would move, too."""
    return Secrets(WORDS, move_all)
