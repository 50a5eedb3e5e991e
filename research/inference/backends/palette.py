"""A baseline without learning: describes an image's shape, brightness and colours.

It is there as a lower bound in tables of scores (whatever learned to see should be far above it), to have something to
run in the demo and in tests where no PyTorch is installed, and as an example of a backend. The same image gives the
same caption, however it is decoded.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from PIL import Image

from research.inference.backends.captioners import (
    BackendSettingsError,
    Captioner,
    Decoding,
    FailedImage,
    GeneratedCaption,
    ModelSpec,
)

SHAPES = ("wide", "tall", "square")
LIGHTS = ("dark", "bright")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "grey", "white")
SIDE = 64
AT_ONCE = 256
LONGER_BY = 1.2
"""How many times as long one side must be as the other for an image to be wide or tall."""
DARK, BRIGHT = 0.3, 0.65
"""Of the mean brightness, 0 to 1."""
WHOLE_SHARE, MAIN_SHARE, PART_SHARE = 0.85, 0.5, 0.12
"""Shares of the image: of a colour that it is all in, one that most is in, and one worth a mention beside it."""
CASES = ("black", "white", "grey", "pink", "brown", "red", "orange", "yellow", "green", "blue", "purple")
"""The colours of the conditions in `_colours`: the first that holds counts; where none does, it is pink."""


@dataclass(frozen=True)
class PaletteWords:
    """Words of a language, in the order of SHAPES, LIGHTS and COLOURS; `plain` is for images neither dark nor bright.

    Only the colour's own form has to agree. Where a language needs two (blau, Blau), `colours` has both with a stroke
    between; the patterns take the forms of the first colour, then those of the other, by number.
    """

    plain: str
    lit: str
    shapes: Sequence[str]
    lights: Sequence[str]
    colours: Sequence[str]
    all_in: str
    mostly: str
    mostly_with_some: str
    above_all: str


with Path(__file__).with_name("palette_words.toml").open("rb") as file:
    LANGUAGES: Mapping[str, PaletteWords] = {tag: PaletteWords(**table) for tag, table in tomllib.load(file).items()}


def sentence_in(*, language: str, shape: str, light: str, colour: str, other: str, extent: str) -> str:
    """Build the sentence in NFC. `light` and `other` may be empty; `extent` is "all", "most" or "both"."""
    words = LANGUAGES[language]
    forms = words.colours[COLOURS.index(colour)].split("/")
    if other and extent != "all":
        forms += words.colours[COLOURS.index(other)].split("/")
        pattern = words.mostly_with_some if extent == "most" else words.above_all
    else:
        pattern = words.all_in if extent == "all" else words.mostly
    return (words.lit if light else words.plain).format(
        shape=words.shapes[SHAPES.index(shape)],
        light=words.lights[LIGHTS.index(light)] if light else "",
        said=pattern.format(*forms),
    )


@dataclass(frozen=True)
class ImageAppearance:
    """The description of an image. `light` is empty if it is neither dark nor bright."""

    shape: str
    light: str
    colour: str
    other: str
    extent: str
    """Whether the image is in `colour` alone ("all"), mostly ("most"), or in both colours above all ("both")."""


class PaletteBackend:
    name = "palette"
    queue = "default"
    title = gettext_lazy("Palette (shape, brightness and colours; no learning)")
    about = gettext_lazy(
        "Needs no model and no GPU: it names the colours in an image. Use it to see how everything works."
    )

    def check(self, spec: ModelSpec) -> None:
        if spec.source:
            raise BackendSettingsError(_("Palette needs no source. Leave it empty."))
        if spec.options:
            raise BackendSettingsError(
                _("Palette has no options. Remove %(names)s.") % {"names": ", ".join(sorted(spec.options))}
            )
        if spec.is_pivot:
            raise BackendSettingsError(_("Palette is not pivot-stabilised: it writes no stabiliser."))

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        return {tag: tag for tag in LANGUAGES}

    def load(self, spec: ModelSpec) -> Captioner:
        self.check(spec)
        return PaletteCaptioner()


class PaletteCaptioner:
    side: int | None = SIDE
    batch_size = AT_ONCE

    def describe(self) -> dict[str, str]:
        return {"architecture": "sentences by rule, no parameters", "device": "cpu"}

    def prepare(self, image: Image.Image | None) -> ImageAppearance:
        if image is None:
            raise BackendSettingsError(_("The model describes images, and was given none."))
        return appearance_of(image)

    def stabilise(self, prepared: Sequence[Any], *, keys: Sequence[str], decoding: Decoding) -> list[str | FailedImage]:
        raise BackendSettingsError(_("Palette is not pivot-stabilised: it writes no stabiliser."))

    def caption(
        self,
        prepared: Sequence[ImageAppearance],
        *,
        keys: Sequence[str],
        language: str,
        decoding: Decoding,
        stabilisers: Sequence[str] | None = None,
    ) -> list[GeneratedCaption | FailedImage]:
        return [GeneratedCaption(sentence_in(language=language, **asdict(one))) for one in prepared]

    def close(self) -> None:
        """Nothing to free."""


def appearance_of(image: Image.Image) -> ImageAppearance:
    small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    pixels = np.asarray(small, dtype=np.float32) / 255
    shares = np.bincount(_colours(pixels).ravel(), minlength=len(COLOURS)) / (SIDE * SIDE)
    # A stable sort: of colours with equal shares, the first of the list.
    first, second = np.argsort(-shares, kind="stable")[:2]
    other = COLOURS[second] if shares[second] >= PART_SHARE else ""
    extent = "all" if shares[first] >= WHOLE_SHARE else "most" if shares[first] >= MAIN_SHARE or not other else "both"
    return ImageAppearance(_shape(image.width, image.height), _light(pixels), COLOURS[first], other, extent)


def _shape(width: int, height: int) -> str:
    if width >= LONGER_BY * height:
        return "wide"
    return "tall" if height >= LONGER_BY * width else "square"


def _light(pixels: np.ndarray[Any, Any]) -> str:
    mean = float((pixels @ np.array([0.299, 0.587, 0.114], dtype=np.float32)).mean())
    return "dark" if mean < DARK else "bright" if mean > BRIGHT else ""


def _colours(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Compute each pixel's index in COLOURS, by hue, saturation and value."""
    value, least = pixels.max(axis=-1), pixels.min(axis=-1)
    chroma = value - least
    saturation = np.divide(chroma, value, out=np.zeros_like(value), where=value > 0)
    hue = _hue(pixels, value, chroma)
    names = np.select(
        [
            value < 0.2,
            (saturation < 0.15) & (value > 0.8),
            saturation < 0.15,
            ((hue < 20) | (hue >= 345)) & (saturation < 0.55) & (value > 0.8),
            (hue >= 15) & (hue < 50) & ((value < 0.65) | (saturation < 0.45)),
            (hue < 15) | (hue >= 345),
            hue < 45,
            hue < 68,
            hue < 165,
            hue < 255,
            (hue < 300) | ((hue < 325) & (value < 0.65)),
        ],
        [COLOURS.index(name) for name in CASES],
        COLOURS.index("pink"),
    )
    return np.asarray(names, dtype=np.int64)


def _hue(pixels: np.ndarray[Any, Any], value: np.ndarray[Any, Any], chroma: np.ndarray[Any, Any]) -> Any:
    """Compute hues from 0 to 360; 0 for greys."""
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    safe = np.where(chroma > 0, chroma, 1)
    sector = np.select(
        [value == red, value == green],
        [((green - blue) / safe) % 6, (blue - red) / safe + 2],
        (red - green) / safe + 4,
    )
    return np.where(chroma > 0, sector * 60, 0)
