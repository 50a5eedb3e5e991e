"""Palette: what it says of images that everybody sees the same in, in whole sentences of each of its languages."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import unicodedata
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from core.languages.rules.registry import LANGUAGES as REGISTERED
from core.languages.rules.scripts import script_of
from research.inference.backends.captioners import BackendSettingsError, Decoding, GeneratedCaption, ModelSpec
from research.inference.backends.palette import (
    COLOURS,
    LANGUAGES,
    LIGHTS,
    SHAPES,
    PaletteBackend,
    appearance_of,
    sentence_in,
)
from tests.servers import ROOT

SPEC = ModelSpec("Palette", "", {})


def halves(first: str, second: str, *, of: tuple[int, int] = (60, 40), second_from: int = 30) -> Image.Image:
    image = Image.new("RGB", of, first)
    image.paste(second, (second_from, 0, *of))
    return image


def said(image: Image.Image, language: str = "en", **decoding: Any) -> str:
    captioner = PaletteBackend().load(SPEC)
    (captions,) = captioner.caption(
        [captioner.prepare(image)], keys=["k"], language=language, decoding=Decoding(**decoding)
    )
    captioner.close()
    assert isinstance(captions, GeneratedCaption)
    return captions.text


@pytest.mark.parametrize(
    ("image", "text"),
    [
        (Image.new("RGB", (60, 40), "white"), "A wide, bright image, almost all in white."),
        (Image.new("RGB", (40, 60), "black"), "A tall, dark image, almost all in black."),
        (Image.new("RGB", (50, 50), (128, 128, 128)), "A square image, almost all in grey."),
        (halves("blue", "white", second_from=45), "A wide image, mostly blue with some white."),
        (halves("yellow", "green", second_from=56), "A wide, bright image, almost all in yellow."),
        (halves("red", "lime", second_from=50), "A wide image, mostly red with some green."),
        (halves("purple", "orange", second_from=40), "A wide image, mostly purple with some orange."),
        (halves("saddlebrown", "pink", second_from=48), "A wide image, mostly brown with some pink."),
    ],
)
def test_it_says_what_everybody_sees(image, text):
    assert said(image) == text


def test_where_no_colour_has_half_of_the_image_the_two_largest_are_named():
    image = Image.new("RGB", (100, 100), "gray")
    image.paste("red", (0, 0, 45, 100))
    image.paste("white", (45, 0, 80, 100))

    assert said(image) == "A square image, above all red and white."


def test_many_colours_of_which_one_is_most_are_mostly_that_one():
    image = Image.new("RGB", (100, 100), "red")
    for number, colour in enumerate(("white", "blue", "green", "yellow")):
        image.paste(colour, (60 + 10 * number, 0, 70 + 10 * number, 100))

    assert said(image) == "A square image, mostly red."


def test_the_same_image_gives_the_same_caption_however_it_is_decoded_and_whatever_its_size():
    drawn = np.random.default_rng(7).integers(0, 256, size=(32, 48, 3), dtype=np.uint8)
    small = Image.fromarray(drawn)
    large = small.resize((480, 320), Image.Resampling.NEAREST)

    assert said(small) == said(small, beams=5, temperature=1.0, seed=3)
    assert appearance_of(small).colour == appearance_of(large).colour
    assert said(Image.new("L", (9, 9), 255)) == said(Image.new("RGBA", (9, 9), "white"))


@pytest.mark.parametrize("size", [(1, 1), (1, 4000), (5000, 1)])
def test_no_image_is_too_narrow(size):
    assert said(Image.new("RGB", size, "red")).endswith("almost all in red.")


def test_it_writes_exactly_the_languages_it_says():
    tags = set(PaletteBackend().languages(SPEC))

    assert tags == {"en", "de", "es", "fr", "ar", "hi", "ja", "zh"}
    assert tags <= {language.tag for language in REGISTERED}


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_of_a_language_is_whole_normal_and_in_its_script(language):
    scripts = next(one.scripts for one in REGISTERED if one.tag == language)
    seen = set()
    for shape, light, colour, other, extent in itertools.product(
        SHAPES, ("", *LIGHTS), COLOURS, ("", *COLOURS), ("all", "most", "both")
    ):
        if colour == other or (not other and extent == "both"):
            continue
        text = sentence_in(language=language, shape=shape, light=light, colour=colour, other=other, extent=extent)
        seen.add(text)
        assert unicodedata.is_normalized("NFC", text)
        assert not re.search(r"[{}/]|\s\s|^\s|\s$|\s[,.،,。।]", text), text
        assert text[-1] in ".。।"
        assert {script_of(character) for character in text} - {""} <= set(scripts), text
    # 3 shapes × 3 lights × (11 alone, 11 mostly, 110 mostly with some, 110 above all).
    assert len(seen) == 9 * (11 + 11 + 110 + 110)


def test_marks_are_those_of_the_language():
    chinese, japanese, arabic = (
        sentence_in(language=tag, shape="wide", light="dark", colour="blue", other="white", extent="most")
        for tag in ("zh", "ja", "ar")
    )
    assert [text.count(",") for text in (chinese, japanese, arabic)] == [0, 0, 0]
    assert (chinese.count("\uff0c"), japanese.count("。"), arabic.count("،")) == (2, 2, 1)


def test_forms_of_a_colour_stand_where_the_language_wants_them():
    forms = {
        "de": "Ein hohes, helles Bild, überwiegend gelb mit etwas Orange.",
        "fr": "Une image verticale et claire, surtout en jaune, avec un peu d’orange.",
        "hi": "एक खड़ी, उजली तस्वीर, जो ज़्यादातर पीले रंग में है और जिसमें थोड़ा नारंगी रंग भी है।",
    }
    for tag, text in forms.items():
        said = sentence_in(language=tag, shape="tall", light="bright", colour="yellow", other="orange", extent="most")
        assert said == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (replace(SPEC, source="lab"), "needs no source"),
        (replace(SPEC, options={"side": 3}), "has no options. Remove side"),
        (replace(SPEC, is_pivot=True), "no stabiliser"),
    ],
)
def test_what_it_cannot_be_given_is_refused(spec, why):
    with pytest.raises(BackendSettingsError, match=why):
        PaletteBackend().check(spec)
    with pytest.raises(BackendSettingsError, match=why):
        PaletteBackend().load(spec)


def test_it_describes_images_and_nothing_else():
    captioner = PaletteBackend().load(SPEC)
    with pytest.raises(BackendSettingsError, match="given none"):
        captioner.prepare(None)
    with pytest.raises(BackendSettingsError, match="no stabiliser"):
        captioner.stabilise([], keys=[], decoding=Decoding())
    assert captioner.side == 64
    assert captioner.describe()["device"] == "cpu"


@pytest.mark.process
def test_it_loads_no_torch():
    code = (
        "import sys, config; from research.inference.backends.palette import PaletteBackend as P; "
        "from research.inference.backends.captioners import ModelSpec; P().load(ModelSpec('x', '', {})); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=60).returncode == 0
