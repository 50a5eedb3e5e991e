"""The sentences of Palette by language, written so that only the colour's own form has to agree.

Where a language needs two forms of a colour (blau, Blau), `colours` has both with a stroke between; the patterns take
the forms of the first colour, then those of the other, by number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SHAPES = ("wide", "tall", "square")
LIGHTS = ("dark", "bright")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "grey", "white")


@dataclass(frozen=True)
class Words:
    """Words are in the order of SHAPES, LIGHTS and COLOURS; `plain` is for images neither dark nor bright."""

    plain: str
    lit: str
    shapes: tuple[str, ...]
    lights: tuple[str, ...]
    colours: tuple[str, ...]
    all_in: str
    mostly: str
    mostly_with_some: str
    above_all: str


LANGUAGES: Mapping[str, Words] = {
    "en": Words(
        plain="A {shape} image, {said}.",
        lit="A {shape}, {light} image, {said}.",
        shapes=("wide", "tall", "square"),
        lights=("dark", "bright"),
        colours=COLOURS,
        all_in="almost all in {0}",
        mostly="mostly {0}",
        mostly_with_some="mostly {0} with some {1}",
        above_all="above all {0} and {1}",
    ),
    "de": Words(
        plain="Ein {shape} Bild, {said}.",
        lit="Ein {shape}, {light} Bild, {said}.",
        shapes=("breites", "hohes", "quadratisches"),
        lights=("dunkles", "helles"),
        colours=(
            "rot/Rot",
            "orange/Orange",
            "gelb/Gelb",
            "grün/Grün",
            "blau/Blau",
            "lila/Lila",
            "rosa/Rosa",
            "braun/Braun",
            "schwarz/Schwarz",
            "grau/Grau",
            "weiß/Weiß",
        ),
        all_in="fast ganz in {1}",
        mostly="überwiegend {0}",
        mostly_with_some="überwiegend {0} mit etwas {3}",
        above_all="vor allem {0} und {2}",
    ),
    "es": Words(
        plain="Una imagen {shape}, {said}.",
        lit="Una imagen {shape} y {light}, {said}.",
        shapes=("apaisada", "vertical", "cuadrada"),
        lights=("oscura", "luminosa"),
        colours=(
            "rojo",
            "naranja",
            "amarillo",
            "verde",
            "azul",
            "morado",
            "rosa",
            "marrón",
            "negro",
            "gris",
            "blanco",
        ),
        all_in="casi toda en {0}",
        mostly="sobre todo en {0}",
        mostly_with_some="sobre todo en {0}, con algo de {1}",
        above_all="sobre todo en {0} y {1}",
    ),
    "fr": Words(
        plain="Une image {shape}, {said}.",
        lit="Une image {shape} et {light}, {said}.",
        shapes=("horizontale", "verticale", "carrée"),
        lights=("sombre", "claire"),
        colours=(
            "rouge/de rouge",
            "orange/d’orange",
            "jaune/de jaune",
            "vert/de vert",
            "bleu/de bleu",
            "violet/de violet",
            "rose/de rose",
            "brun/de brun",
            "noir/de noir",
            "gris/de gris",
            "blanc/de blanc",
        ),
        all_in="presque toute en {0}",
        mostly="surtout en {0}",
        mostly_with_some="surtout en {0}, avec un peu {3}",
        above_all="surtout en {0} et en {2}",
    ),
    "ar": Words(
        plain="صورة {shape}، {said}.",
        lit="صورة {shape} {light}، {said}.",
        shapes=("عريضة", "طولية", "مربعة"),
        lights=("داكنة", "ساطعة"),
        colours=(
            "الأحمر",
            "البرتقالي",
            "الأصفر",
            "الأخضر",
            "الأزرق",
            "البنفسجي",
            "الوردي",
            "البني",
            "الأسود",
            "الرمادي",
            "الأبيض",
        ),
        all_in="كلها تقريبًا باللون {0}",
        mostly="يغلب عليها اللون {0}",
        mostly_with_some="يغلب عليها اللون {0} مع شيء من {1}",
        above_all="يغلب عليها اللونان {0} و{1}",
    ),
    "hi": Words(
        plain="एक {shape} तस्वीर, {said}।",
        lit="एक {shape}, {light} तस्वीर, {said}।",
        shapes=("चौड़ी", "खड़ी", "चौकोर"),
        lights=("अँधेरी", "उजली"),
        colours=(
            "लाल/लाल",
            "नारंगी/नारंगी",
            "पीले/पीला",
            "हरे/हरा",
            "नीले/नीला",
            "बैंगनी/बैंगनी",
            "गुलाबी/गुलाबी",
            "भूरे/भूरा",
            "काले/काला",
            "स्लेटी/स्लेटी",
            "सफ़ेद/सफ़ेद",
        ),
        all_in="जो लगभग पूरी तरह {0} रंग में है",
        mostly="जो ज़्यादातर {0} रंग में है",
        mostly_with_some="जो ज़्यादातर {0} रंग में है और जिसमें थोड़ा {3} रंग भी है",
        above_all="जो ज़्यादातर {0} और {2} रंग में है",
    ),
    "ja": Words(
        plain="{shape}画像。{said}。",
        lit="{shape}{light}画像。{said}。",
        shapes=("横長の", "縦長の", "正方形の"),
        lights=("暗い", "明るい"),
        colours=("赤", "オレンジ色", "黄色", "緑", "青", "紫", "ピンク", "茶色", "黒", "灰色", "白"),
        all_in="ほぼ全体が{0}",
        mostly="大部分が{0}",
        mostly_with_some="大部分が{0}で、{1}も少しある",
        above_all="主に{0}と{1}",
    ),
    "zh": Words(
        plain="一张{shape}图片，{said}。",
        lit="一张{light}{shape}图片，{said}。",
        shapes=("横幅", "竖幅", "方形"),
        lights=("偏暗的", "明亮的"),
        colours=("红色", "橙色", "黄色", "绿色", "蓝色", "紫色", "粉色", "棕色", "黑色", "灰色", "白色"),
        all_in="几乎全是{0}",
        mostly="以{0}为主",
        mostly_with_some="以{0}为主，带有一些{1}",
        above_all="主要是{0}和{1}",
    ),
}


def sentence(*, language: str, shape: str, light: str, colour: str, other: str, extent: str) -> str:
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
