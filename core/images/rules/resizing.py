"""Resize images: the results are upright, sRGB, opaque, and contain nothing but pixels."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from typing import IO, cast

from PIL import Image as Pillow
from PIL import ImageCms, ImageOps
from PIL.ExifTags import Base

from core.images.rules import limits
from core.images.rules.exif import SIDEWAYS, exif_of
from core.images.rules.sizes import sizes_of

WEBP_QUALITY = 82
WHITE = (255, 255, 255)
REDUCING_GAP = 3.0
"""Whole pixels are averaged until the image is this many times larger than wanted; then the filter is applied."""
REACH = {Pillow.Resampling.LANCZOS: 3, Pillow.Resampling.BICUBIC: 2}
"""How far the filters look to each side, in pixels of the result."""
BAND_PIXELS = 2_000_000
Convert = Callable[[Pillow.Image], Pillow.Image]
_SRGB = ImageCms.createProfile("sRGB")


def served_sizes(file: IO[bytes], *, kind: str) -> Iterator[tuple[int, bytes]]:
    """Make the served sizes (`rules.sizes`) of the image in `file`, as (size, WebP), the largest first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Pillow.DecompressionBombWarning)
        largest, sizes = _largest(file, kind)
    for size in sorted(sizes, reverse=True):
        yield size, _webp(largest.resize(sizes[size], Pillow.Resampling.LANCZOS))


def decoded_upright(file: IO[bytes], *, side: int | None) -> Pillow.Image:
    """Decode the image in `file` upright, sRGB and opaque; reduce its shorter side to `side`, never enlarge it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Pillow.DecompressionBombWarning)
        file.seek(0)
        with Pillow.open(file) as image:
            width, height = image.size
            shrink = min(1.0, side / min(width, height)) if side else 1.0
            target = (max(1, round(width * shrink)), max(1, round(height * shrink)))
            if shrink < 1:
                image.draft(None, target)
            profile = image.info.get("icc_profile")
            orientation = exif_of(image).get(Base.Orientation, 1)
            small = _resized(image, target, Pillow.Resampling.BICUBIC)
    small.getexif()[Base.Orientation] = orientation
    return _on_white(ImageOps.exif_transpose(small), profile)


def _largest(file: IO[bytes], kind: str) -> tuple[Pillow.Image, dict[int, tuple[int, int]]]:
    file.seek(0)
    with Pillow.open(file, formats=[kind]) as image:
        width, height = image.size
        if width * height > limits.MAX_IMAGE_PIXELS:
            raise ValueError("more pixels than an import takes")
        sizes = sizes_of(width, height)
        target = sizes[max(sizes)]
        # A JPEG can be decoded at a half, a quarter or an eighth for a fraction of the memory and time.
        image.draft(None, target)
        profile = image.info.get("icc_profile")
        small = _resized(image, target, Pillow.Resampling.LANCZOS)
        orientation = exif_of(image).get(Base.Orientation, 1)
    small.getexif()[Base.Orientation] = orientation
    upright = ImageOps.exif_transpose(small)
    if orientation in SIDEWAYS:
        sizes = {size: (height, width) for size, (width, height) in sizes.items()}
    return _on_white(upright, profile), sizes


def _resized(image: Pillow.Image, size: tuple[int, int], resample: Pillow.Resampling) -> Pillow.Image:
    """Resize as Pillow does with reducing_gap 3, to eight bits, band by band to save memory."""
    image.load()
    eight_bits = _to_eight_bits(image)
    if image.size == size:
        return eight_bits(image)
    across, down = (max(1, int(old / new / REDUCING_GAP)) for old, new in zip(image.size, size, strict=True))
    box = image.width / across, image.height / down
    if (across, down) != (1, 1):
        image = _reduced(image, (across, down), eight_bits)
        eight_bits = _as_is
    scale = box[1] / size[1]
    reach = REACH[resample] * max(1.0, scale) + 1
    rows = max(1, int(BAND_PIXELS / image.width / scale))
    small = None
    for top in range(0, size[1], rows):
        bottom = min(top + rows, size[1])
        first, last = max(0, int(top * scale - reach)), min(image.height, int(bottom * scale + reach) + 1)
        band = eight_bits(image.crop((0, first, image.width, last)))
        # The filter also sees the pixels around the box, so that no seam shows.
        part_of_it = (0, top * scale - first, box[0], min(bottom * scale, box[1]) - first)
        part = band.resize((size[0], bottom - top), resample, box=part_of_it)
        small = small or Pillow.new(part.mode, size)
        small.paste(part, (0, top))
    assert small is not None
    return small


def _reduced(image: Pillow.Image, by: tuple[int, int], eight_bits: Convert) -> Pillow.Image:
    rows = max(1, BAND_PIXELS // image.width // by[1]) * by[1]
    reduced = None
    for top in range(0, image.height, rows):
        band = image.crop((0, top, image.width, min(top + rows, image.height)))
        part = eight_bits(band).reduce(by)
        reduced = reduced or Pillow.new(part.mode, (part.width, -(-image.height // by[1])))
        reduced.paste(part, (0, top // by[1]))
    assert reduced is not None
    return reduced


def _to_eight_bits(image: Pillow.Image) -> Convert:
    """Return a conversion of parts of the image to a mode that resizes smoothly, with brightness scaled to 0..255."""
    if image.mode.startswith("I;16"):
        steps = 2 ** (_bits(max(_brightest_rows(image))) - 8)
        return lambda part: part.convert("I").point(lambda value: value / steps).convert("L")
    if image.mode in ("I", "F"):
        low, high = cast("tuple[float, float]", image.getextrema())
        if image.mode == "I" and low >= 0 and high <= 65535:
            low, high = 0, 2 ** _bits(high) - 1
        scale = 255 / ((high - low) or 1)
        return lambda part: part.point(lambda value: value * scale + -low * scale).convert("L")
    if image.has_transparency_data:
        return lambda part: part.convert("RGBA")
    if image.mode in ("L", "RGB", "CMYK", "LAB", "YCbCr"):
        return _as_is
    mode = "L" if image.mode == "1" else "RGB"
    return lambda part: part.convert(mode)


def _brightest_rows(image: Pillow.Image) -> Iterator[float]:
    """The highest value of each band: Pillow finds none in images whose high byte comes first."""
    rows = max(1, BAND_PIXELS // image.width)
    for top in range(0, image.height, rows):
        band = image.crop((0, top, image.width, min(top + rows, image.height))).convert("I")
        yield cast("tuple[float, float]", band.getextrema())[1]


def _bits(brightest: float) -> int:
    """How many bits the values have: cameras and scanners write 10, 12 or 14 of them into 16."""
    return max(8, int(brightest).bit_length())


def _as_is(part: Pillow.Image) -> Pillow.Image:
    return part


def _on_white(image: Pillow.Image, profile: bytes | None) -> Pillow.Image:
    colours = image.convert("RGB") if image.mode == "RGBA" else image
    flat = Pillow.new("RGB", image.size, WHITE)
    alpha = image.getchannel("A") if image.mode == "RGBA" else None
    flat.paste(_srgb(colours, profile), mask=alpha)
    return flat


def _srgb(image: Pillow.Image, profile: bytes | None) -> Pillow.Image:
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(image, source, _SRGB, outputMode="RGB")
            if converted is not None:
                return converted
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
            pass  # a broken profile, or one for another colour space, is ignored
    return image.convert("RGB")


def _webp(image: Pillow.Image) -> bytes:
    # A new image, because Pillow carries the metadata of the original along.
    clean = Pillow.new("RGB", image.size)
    clean.paste(image)
    output = io.BytesIO()
    clean.save(output, "WEBP", quality=WEBP_QUALITY, method=4)
    return output.getvalue()
