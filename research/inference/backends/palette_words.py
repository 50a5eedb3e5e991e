"""The sentences of Palette by language, written so that only the colour's own form has to agree.

Where a language needs two forms of a colour (blau, Blau), `colours` has both with a stroke between; the patterns take
the forms of the first colour, then those of the other, by number.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SHAPES = ("wide", "tall", "square")
LIGHTS = ("dark", "bright")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "grey", "white")


@dataclass(frozen=True)
class PaletteWords:
    """Words are in the order of SHAPES, LIGHTS and COLOURS; `plain` is for images neither dark nor bright."""

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
