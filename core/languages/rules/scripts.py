"""Which script a letter is of, from Python's Unicode data: well enough to warn of a whole sentence in the wrong one.

The first words of a character's Unicode name tell its script. A name is never changed once it is given (Unicode
stability policy), and Python brings the newest ones, so there is no table of ranges to keep.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

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
