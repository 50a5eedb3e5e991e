"""Images that are small as files and large as pixels: how much memory they take, and how long."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image as Pillow
from PIL import features

from core.images.rules import limits
from core.images.rules import resizing as sizing
from core.images.rules.image_checks import ImageRefusedError, inspect
from core.images.rules.resizing import served_sizes
from tests.commands import run_python
from tests.images.image_files import image_file
from tests.images.peaks import REFUSED, TAKEN
from tests.published import published
from tests.tiers import some


@pytest.mark.process
@pytest.mark.long(reason="the memory of processes is measured, with images of 80 million pixels")
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak of a process")
@pytest.mark.parametrize("name", [*TAKEN, *REFUSED])
def test_no_image_takes_more_memory_than_the_limits_say(name: str):
    one = json.loads(run_python("-m", "tests.images.peaks", name))

    assert bool(one["refused"]) == (name in REFUSED), one
    assert max(one["peaks"]) <= limits.MAX_DECODED_BYTES, one
    assert one["bytes"] < 7 * limits.MEGABYTE
    # A measure that measures nothing would be kept by everything.
    assert name != "CMYK.tif" or max(one["peaks"]) > 4 * 79 * limits.MEGABYTE


SIZE = (640, 480)


@pytest.mark.parametrize(
    ("content", "bytes_per_pixel"),
    [
        (image_file("JPEG", size=SIZE), 1),
        (image_file("JPEG", size=SIZE, progressive=True, subsampling="4:2:0"), 4),
        (image_file("JPEG", mode="CMYK", size=SIZE, progressive=True), 9),
        (image_file("WEBP", size=SIZE), 16),
        (image_file("PNG", mode="L", size=SIZE), 1),
        (image_file("PNG", size=SIZE), 4),
        (image_file("TIFF", mode="L", size=SIZE), 1),
        (image_file("TIFF", size=SIZE, compression="packbits", strip_size=10**9), 7),
    ],
)
def test_what_would_take_more_memory_than_the_limit_is_refused(monkeypatch, content: bytes, bytes_per_pixel: int):
    needed = bytes_per_pixel * SIZE[0] * SIZE[1]
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", needed)
    inspect(io.BytesIO(content), name="", size_bytes=len(content))
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", needed - 1)
    with pytest.raises(ImageRefusedError, match="needs much memory"):
        inspect(io.BytesIO(content), name="", size_bytes=len(content))


def with_scans(number: int) -> bytes:
    """A progressive JPEG whose last pass comes `number` times."""
    content = image_file("JPEG", size=(640, 480), progressive=True)
    last = content.rindex(b"\xff\xda")
    return content[:-2] + content[last:-2] * (number - 1) + content[-2:]


def test_a_jpeg_that_goes_over_its_pixels_again_and_again_is_refused():
    for content in (image_file("JPEG", progressive=True), with_scans(50)):
        inspect(io.BytesIO(content), name="a.jpg", size_bytes=len(content))
    with pytest.raises(ImageRefusedError, match="more than 100 passes"):
        inspect(io.BytesIO(with_scans(200)), name="a.jpg", size_bytes=10)


def test_an_image_of_one_endless_row_is_refused():
    content = image_file("PNG", size=(70_000, 2))
    with pytest.raises(ImageRefusedError, match="million pixels"):
        inspect(io.BytesIO(content), name="a.png", size_bytes=len(content))


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow writes no AVIF")
def test_avif_is_not_taken_and_called_by_its_name():
    content = image_file("AVIF")
    with pytest.raises(ImageRefusedError, match="AVIF"):
        inspect(io.BytesIO(content), name="a.avif", size_bytes=len(content))


@pytest.mark.parametrize("mode", some(["RGBA", "I;16", "RGB", "L", "CMYK", "P"], short=2, reason="two of each width"))
def test_no_seam_shows_where_an_image_was_made_smaller_in_bands(monkeypatch, mode):
    with Pillow.open(min(published("photos").glob("*.jpg"))) as photograph:
        dots = photograph.convert("L") if mode == "I;16" else photograph.convert(mode)
    if mode == "RGBA":
        dots.putalpha(Pillow.linear_gradient("L").resize(dots.size))
    if mode == "I;16":
        dots = dots.convert("I").point(lambda value: value * 257).convert("I;16")
    output = io.BytesIO()
    dots.save(output, "TIFF")

    whole = dict(served_sizes(output, kind="TIFF"))
    monkeypatch.setattr(sizing, "BAND_PIXELS", 10_000)
    banded = dict(served_sizes(output, kind="TIFF"))

    assert set(whole) == set(banded)
    for size in whole:
        one, other = (Pillow.open(io.BytesIO(content)).convert("RGB") for content in (whole[size], banded[size]))
        differences = [abs(mine - theirs) for mine, theirs in zip(one.tobytes(), other.tobytes(), strict=True)]
        assert max(differences) <= 30, size
        assert sum(differences) / len(differences) < 0.1
