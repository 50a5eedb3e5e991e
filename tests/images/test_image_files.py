"""Reading images and making the sizes that are served; those that are large as pixels take little memory and time."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow
from PIL import features

from core.images.rules import limits
from core.images.rules import resizing as sizing
from core.images.rules.exif import position_of
from core.images.rules.image_checks import ImageFacts, ImageRefusedError, inspect
from core.images.rules.resizing import served_sizes
from core.images.rules.sizes import sizes_of
from geography.places import CoordinateFault
from tests.commands import run_python
from tests.images.image_files import animation, bomb, exif, image_file, profile
from tests.images.peaks import REFUSED, TAKEN
from tests.published import published
from tests.tiers import some

TRACES = (b"Exif", b"EXIF", b"XMP", b"ICCP", b"ICC_PROFILE", b"SECRET", b"http://ns.adobe.com")

XMP = b"<x:xmpmeta>SECRET http://ns.adobe.com</x:xmpmeta>"


def read(content: bytes, name: str) -> ImageFacts:
    return inspect(io.BytesIO(content), name=name, size_bytes=len(content))


def saved(image: Pillow.Image, kind: str, **options: Any) -> bytes:
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()


def served(content: bytes, kind: str) -> dict[int, bytes]:
    return dict(served_sizes(io.BytesIO(content), kind=kind))


def opened(content: bytes) -> Pillow.Image:
    return Pillow.open(io.BytesIO(content)).convert("RGB")


def dot(content: bytes, place: tuple[float, float]) -> tuple[int, ...]:
    """The colour at `place`, in parts of width and height."""
    shown = opened(content)
    colour = shown.getpixel((int(place[0] * shown.width), int(place[1] * shown.height)))
    assert isinstance(colour, tuple)
    return tuple(int(part) for part in colour)


def close(one: tuple[int, ...], other: tuple[int, ...], by: int = 12) -> bool:
    return all(abs(first - second) <= by for first, second in zip(one, other, strict=True))


SOUND = [
    *(("JPEG", mode, name) for mode, name in (("RGB", "a.jpg"), ("RGB", "a.JPEG"), ("L", "a.jpe"), ("CMYK", "a.jpg"))),
    *(("PNG", mode, "a.png") for mode in ("RGB", "P", "1", "RGBA", "LA")),
    *(("WEBP", mode, "a.webp") for mode in ("RGB", "RGBA")),
    *(("TIFF", "RGB", "a.tif"), ("TIFF", "CMYK", "a.tiff"), ("GIF", "P", "a.gif"), ("JPEG", "RGB", "no ending")),
]


@pytest.mark.parametrize(("kind", "mode", "name"), SOUND)
def test_each_kind_of_image_is_read_and_served_in_its_own_brightness(kind, mode, name):
    content = image_file(kind, mode=mode, size=(640, 480))

    facts = read(content, name)
    sizes = served(content, kind)

    assert (facts.format, facts.width, facts.height) == (kind, 640, 480)
    assert list(sizes) == [800, 320]
    assert opened(sizes[800]).size == (640, 480)
    assert opened(sizes[320]).size == (320, 240)
    left, right = dot(sizes[320], (0.2, 0.5)), dot(sizes[320], (0.8, 0.5))
    assert left[1] + 80 < right[1]
    if mode != "1":
        assert close(right, (200, 200, 200)), right


@pytest.mark.parametrize(("kind", "mode"), [("PNG", "I;16"), ("TIFF", "I;16"), ("TIFF", "I;16B")])
def test_sixteen_bits_are_scaled_to_eight(kind, mode):
    content = saved(Pillow.new(mode, (40, 30), 32768), kind)

    assert read(content, "a.png" if kind == "PNG" else "a.tif").width == 40
    assert close(dot(served(content, kind)[320], (0.5, 0.5)), (128, 128, 128), by=2)


def test_twelve_bits_within_sixteen_are_scaled_to_eight():
    dots = Pillow.new("I;16", (40, 30), 0)
    dots.paste(4095, (20, 0, 40, 30))
    shown = served(saved(dots, "PNG"), "PNG")[320]
    assert close(dot(shown, (0.2, 0.5)), (0, 0, 0))
    assert close(dot(shown, (0.8, 0.5)), (255, 255, 255))


def test_an_image_of_floating_point_numbers_is_stretched_to_what_can_be_seen():
    dots = Pillow.new("F", (40, 30), -3.5)
    dots.paste(8.25, (20, 0, 40, 30))

    shown = served(saved(dots, "TIFF"), "TIFF")[320]

    assert close(dot(shown, (0.2, 0.5)), (0, 0, 0))
    assert close(dot(shown, (0.8, 0.5)), (255, 255, 255))


def test_transparent_parts_become_white():
    clear = saved(Pillow.new("RGBA", (40, 30), (0, 0, 0, 0)), "PNG")
    assert dot(served(clear, "PNG")[320], (0.5, 0.5)) == (255, 255, 255)


def test_of_an_animation_the_first_frame_is_taken():
    content = animation()
    assert read(content, "a.gif") == ImageFacts("GIF", 40, 30)
    assert close(dot(served(content, "GIF")[320], (0.5, 0.5)), (255, 0, 0))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_an_image_taken_sideways_is_served_upright(kind):
    # Orientation 6: the first row of the file is the right side of the image, so what is left comes to the top.
    content = image_file(kind, size=(640, 480), exif=exif(6))

    facts = read(content, f"a.{ {'JPEG': 'jpg', 'TIFF': 'tif'}.get(kind, kind.lower()) }")
    shown = served(content, kind)[800]

    assert (facts.width, facts.height) == (480, 640)
    assert opened(shown).size == (480, 640)
    assert dot(shown, (0.5, 0.2))[0] + 80 < dot(shown, (0.5, 0.8))[0]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {"exif": exif(1, artist="SECRET"), "icc_profile": profile(), "comment": b"SECRET-COMMENT"}),
        ("PNG", {"exif": exif(1), "icc_profile": profile()}),
        ("WEBP", {"exif": exif(1), "icc_profile": profile(), "xmp": XMP}),
        ("TIFF", {"exif": exif(1), "icc_profile": profile(), "description": "SECRET"}),
    ],
)
def test_served_sizes_hold_nothing_but_pixels(kind, options):
    content = image_file(kind, size=(1700, 900), **options)
    assert any(trace in content for trace in TRACES)

    sizes = served(content, kind)

    assert list(sizes) == [1600, 800, 320]
    for shown in sizes.values():
        assert not any(trace in shown for trace in TRACES)
        assert set(Pillow.open(io.BytesIO(shown)).info) <= {"loop", "background", "timestamp", "duration"}


def test_colours_of_another_profile_are_converted():
    # sRGB with the names of red and green exchanged: an image that says red shows green.
    exchanged = profile().replace(b"rXYZ", b"tmp!").replace(b"gXYZ", b"rXYZ").replace(b"tmp!", b"gXYZ")
    content = saved(Pillow.new("RGB", (40, 30), (220, 20, 20)), "PNG", icc_profile=exchanged)

    red, green, _ = dot(served(content, "PNG")[320], (0.5, 0.5))

    assert green > red + 100


def test_a_broken_profile_is_as_none():
    plain = image_file("JPEG", size=(40, 30))
    broken = image_file("JPEG", size=(40, 30), icc_profile=b"not a profile")
    assert served(broken, "JPEG") == served(plain, "JPEG")


def test_a_place_is_read_in_degrees():
    south_west = exif(gps=(("S", (33.0, 51.0, 30.0)), ("W", (70.0, 30.0, 0.0))))
    assert read(image_file(exif=south_west), "a.jpg").position == (-33.8583333, -70.5)


@pytest.mark.parametrize(
    ("gps", "fault"),
    [
        ((("N", (91.0, 0.0, 0.0)), ("E", (200.0, 0.0, 0.0))), CoordinateFault.OUT_OF_RANGE),
        ((("N", (120.0, 0.0, 0.0)), ("E", (10.0, 0.0, 0.0))), CoordinateFault.SWAPPED),
        ((("N", (10.0, 0.0, 0.0)), ("E", (181.0, 0.0, 0.0))), CoordinateFault.OUT_OF_RANGE),
        ((("N", (0.0, 0.0, 0.0)), ("E", (0.0, 0.0, 0.0))), CoordinateFault.NULL_ISLAND),
        ((("X", (10.0, 0.0, 0.0)), ("E", (10.0, 0.0, 0.0))), CoordinateFault.NOT_A_NUMBER),
        ((("N", (10.0, 75.0, 0.0)), ("E", (10.0, 0.0, 0.0))), CoordinateFault.NOT_A_NUMBER),
        ((("N", (10.0, 0.0)), ("E", (10.0, 0.0, 0.0))), CoordinateFault.NOT_A_NUMBER),
    ],
)
def test_a_place_that_cannot_be_true_is_named_as_such(gps, fault):
    assert position_of(exif(gps=gps)) is fault
    assert read(image_file(exif=exif(gps=gps)), "a.jpg").position is fault


def test_an_image_without_a_place_has_none():
    assert position_of(exif(artist="Ann")) is None


def test_the_author_is_the_artist_or_else_the_copyright_line():
    # Pillow writes no UTF-8 there, though cameras do.
    both = image_file(exif=exif(artist="J??rg", copyright="(c) somebody")).replace(b"J??rg", "Jörg".encode())
    assert read(both, "a.jpg").author == "Jörg"
    assert read(image_file(exif=exif(copyright="(c) 2020 Ann")), "a.jpg").author == "(c) 2020 Ann"
    assert read(image_file(), "a.jpg").author == ""


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        (b"", "a.jpg", "empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'></svg>", "a.svg", "SVG"),
        (b"<!DOCTYPE html><title>Not found</title>", "a.jpg", "web page"),
        (b"%PDF-1.7", "a.jpg", "PDF"),
        (b"\0\0\0\x18ftypheic", "a.heic", "HEIC"),
        (b"just text", "a.txt", "not a known image format"),
        (image_file("JPEG"), "photo.png", "Rename it to “photo.jpg”"),
        (image_file("PNG"), "photo.jpeg", "Rename it to “photo.png”"),
        (image_file("JPEG", size=(400, 300))[:-300], "a.jpg", "incomplete"),
        (image_file("PNG", size=(400, 300))[:-30], "a.png", "incomplete"),
        (image_file("GIF", mode="P", size=(400, 300))[:-200], "a.gif", "incomplete"),
        (image_file("WEBP", size=(400, 300))[:-60], "a.webp", "incomplete"),
        (image_file("TIFF", size=(400, 300))[:2000], "a.tif", "incomplete"),
        (b"\xff\xd8\xff" + b"\0" * 600, "a.jpg", "incomplete"),
        (bomb(9_000, 9_000), "a.png", "80 million pixels"),
        (bomb(60_000, 60_000), "a.png", "80 million pixels"),
    ],
)
def test_what_is_not_taken_says_why(content, name, says):
    with pytest.raises(ImageRefusedError, match=says):
        read(content, name)


def test_a_flipped_bit_in_a_png_is_found():
    content = bytearray(image_file("PNG", size=(400, 300)))
    content[len(content) // 2] ^= 1
    with pytest.raises(ImageRefusedError, match="broken"):
        read(bytes(content), "a.png")


def test_too_many_bytes_are_refused_unread():
    with pytest.raises(ImageRefusedError, match="at most 50 MB"):
        inspect(io.BytesIO(b""), name="a.jpg", size_bytes=limits.MAX_IMAGE_BYTES + 1)


@pytest.mark.parametrize(
    ("width", "height", "sizes"),
    [
        (200, 100, {320: (200, 100)}),
        (320, 10, {320: (320, 10)}),
        (640, 480, {320: (320, 240), 800: (640, 480)}),
        (4000, 3000, {320: (320, 240), 800: (800, 600), 1600: (1600, 1200)}),
        (1, 5000, {320: (1, 320), 800: (1, 800), 1600: (1, 1600)}),
    ],
)
def test_sizes_are_never_larger_than_the_image(width, height, sizes):
    assert sizes_of(width, height) == sizes


@pytest.mark.long(reason="at least three others run each of its lines")
def test_real_photographs_are_served_without_what_they_say_about_themselves():
    photographs = sorted(published("photos").glob("*.jpg"))[:2]
    assert photographs
    for path in photographs:
        content = path.read_bytes()
        facts = read(content, path.name)
        for size, shown in served(content, facts.format).items():
            assert opened(shown).size == sizes_of(facts.width, facts.height)[size]
            assert not any(trace in shown for trace in TRACES), path.name


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
