"""What the checks of a text know of its language: its script, letter by letter, and whether it is English.

The first words of a character's Unicode name tell its script. A name is never changed once it is given (Unicode
stability policy), and Python brings the newest ones, so there is no table of ranges to keep.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

_SCRIPT_OF_NAME = {
    "LATIN": "Latn",
    "CYRILLIC": "Cyrl",
    "GREEK": "Grek",
    "ARABIC": "Arab",
    "HEBREW": "Hebr",
    "DEVANAGARI": "Deva",
    "BENGALI": "Beng",
    "TELUGU": "Telu",
    "THAI": "Thai",
    "HIRAGANA": "Hira",
    "KATAKANA": "Kana",
    "KATAKANA-HIRAGANA": "Kana",
    "CJK": "Hani",
    "IDEOGRAPHIC": "Hani",
    "HANGUL": "Hang",
    "BOPOMOFO": "Bopo",
    "YI": "Yiii",
    "LISU": "Lisu",
    "ARMENIAN": "Armn",
    "GEORGIAN": "Geor",
    "ETHIOPIC": "Ethi",
    "TAMIL": "Taml",
    "KANNADA": "Knda",
    "MALAYALAM": "Mlym",
    "GUJARATI": "Gujr",
    "GURMUKHI": "Guru",
    "ORIYA": "Orya",
    "SINHALA": "Sinh",
    "MEETEI": "Mtei",
    "OL CHIKI": "Olck",
    "KHMER": "Khmr",
    "LAO": "Laoo",
    "MYANMAR": "Mymr",
    "TIBETAN": "Tibt",
    "MONGOLIAN": "Mong",
    "NEW TAI": "Talu",
    "TAI LE": "Tale",
    "TAI THAM": "Lana",
    "TAI VIET": "Tavt",
    "CHAM": "Cham",
    "JAVANESE": "Java",
    "BALINESE": "Bali",
    "SUNDANESE": "Sund",
    "THAANA": "Thaa",
    "SYRIAC": "Syrc",
    "NKO": "Nkoo",
    "ADLAM": "Adlm",
    "VAI": "Vaii",
    "TIFINAGH": "Tfng",
    "CHEROKEE": "Cher",
    "CANADIAN": "Cans",
}

KNOWN_SCRIPTS = frozenset(_SCRIPT_OF_NAME.values())
"""ISO 15924 codes whose letters are recognised. A language written in another one is not checked by guess."""


@lru_cache(maxsize=20_000)
def script_of(character: str) -> str:
    """ISO 15924 code of the script of one letter; "" for anything else and for letters of no known script.

    Digits, punctuation, signs and combining marks belong to no script here. A letter that is only a form of another
    (full width, ligature, presentation form) counts as that.
    """
    for plain in unicodedata.normalize("NFKC", character):
        if plain.isalpha():
            words = unicodedata.name(plain, "").split(" ")
            return _SCRIPT_OF_NAME.get(words[0]) or _SCRIPT_OF_NAME.get(" ".join(words[:2]), "")
    return ""


_SCRIPT = re.compile(r"[A-Z][a-z]{3}")


class MalformedScriptError(ValueError):
    """Says what was given, and what a script code looks like."""


def canonical_script(code: str) -> str:
    """An ISO 15924 code in its usual case: `latn` is `Latn`.

    Raises MalformedScriptError for anything but four letters.
    """
    cased = code.strip().capitalize()
    if not _SCRIPT.fullmatch(cased):
        raise MalformedScriptError(f"{code!r} is not a script; write its ISO 15924 code, four letters such as Latn.")
    return cased


def script_of_tag(canonical: str) -> str | None:
    """The script that a canonical tag names, if it does: `Cyrl` of `sr-Cyrl-RS`."""
    for part in canonical.split("-")[1:]:
        if len(part) == 1:
            return None
        if _SCRIPT.fullmatch(part):
            return part
    return None


_WORD = re.compile(r"[^\W\d_]+")
# Frequent in English. "And", "are" and "it" are not here: they are words in Norwegian, Romanian and Turkish.
_ENGLISH_WORDS = frozenset(
    ("the", "you", "your", "that", "this", "which", "with", "from", "they", "their", "what", "when")
)
_ENGLISH_SHARE = 1 / 12


class LanguageTraits(Protocol):
    """What the checks of a caption need to know of its language; a `Language` row has it."""

    @property
    def spaced(self) -> bool:
        """Whether spaces separate words."""

    @property
    def scripts(self) -> Sequence[str]:
        """ISO 15924 codes; empty where the script is not checked."""


def is_english(text: str) -> bool:
    """Whether `text` is mostly in plain Latin letters, with so many small English words that it must be English.

    One such word alone says nothing: it may be part of a name, or Danish, in which *the* is tea.
    """
    words = _WORD.findall(text.lower())
    latin, small = sum(map(str.isascii, words)), [word for word in words if word in _ENGLISH_WORDS]
    return 2 * latin > len(words) and len(set(small)) > 1 and len(small) >= _ENGLISH_SHARE * len(words)
