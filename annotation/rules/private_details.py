"""Rules that find what may be private in a caption: addresses, accounts, long numbers and plates of vehicles.

Names of people, and descriptions by which somebody can be recognised, are found by `people_details`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

MIN_NUMBER_DIGITS = 7
"""(ours) Shorter than any telephone number with its area, longer than years, prices and times."""


class DetailKind(TextChoices):
    EMAIL = "email", _("e-mail address")
    LINK = "link", _("web address")
    HANDLE = "handle", _("account name")
    NUMBER = "number", _("long number")
    PLATE = "plate", _("plate of a vehicle")
    NAME = "name", _("name")
    FACE = "face", _("face")
    MARK = "mark", _("scar or tattoo")
    ORIGIN = "origin", _("skin or origin")
    DISABILITY = "disability", _("disability")


class PrivateDetail(NamedTuple):
    kind: DetailKind
    text: str


_ENDINGS = "com|org|net|info|edu|gov|biz|io|me|app"
# Not \b: in scripts without spaces, a letter stands right beside.
_BEGIN, _END = r"(?<![A-Za-z\d])", r"(?![A-Za-z\d])"
_NEXT_DIGIT = r"(?:[ .\-/()\u00a0\u2010-\u2015]{0,3}\d)"
_LATIN_PLATES = r"[A-Z]{1,3}[- ][A-Z]{1,2}[- ]?\d{1,4}|[A-Z]{2,3}[- ]?\d{2,4}[- ]?[A-Z]{1,3}|[A-Z]{3}[- ]\d{4}"
_RUSSIAN_PLATES = r"[АВЕКМНОРСТУХ] ?\d{3} ?[АВЕКМНОРСТУХ]{2} ?\d{2,3}"
# In this order: what one has found, the next do not look at.
_PATTERNS = (
    (DetailKind.EMAIL, re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    (
        DetailKind.LINK,
        re.compile(rf"https?://\S+|{_BEGIN}(?:www\.\S+|[a-z\d-]+\.(?:{_ENDINGS}){_END}(?:/\S*)?)", re.IGNORECASE),
    ),
    (DetailKind.HANDLE, re.compile(r"(?<![\w@.])@\w{2,}")),
    (DetailKind.NUMBER, re.compile(rf"(?<![\d.,])\+?\(?\d{_NEXT_DIGIT}{{{MIN_NUMBER_DIGITS - 1},}}(?!\d)")),
    (DetailKind.PLATE, re.compile(rf"{_BEGIN}(?:{_LATIN_PLATES}|{_RUSSIAN_PLATES}){_END}")),
)
# These have as many digits as a telephone number and are none: dates, years from and to, and millions.
_DATES = r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4}|[12]\d{3} ?[-/\u2010-\u2015] ?[12]\d{3}"
_HARMLESS = re.compile(rf"(?<!\d)(?:{_DATES}|\d{{1,3}}(?:\.\d{{3}}){{2,}})(?!\d)")
_DECIMALS = "".join(chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Nd")
WORTH_A_SCAN = rf"[@{_DECIMALS}]|://|www\.|\.({_ENDINGS})"
"""What a database finds quickly: a regular expression that matches every text with a detail, whatever its case."""
_TO_ASCII = {ord(digit): str(unicodedata.digit(digit)) for digit in _DECIMALS}


def private_details(text: str) -> list[PrivateDetail]:
    """Return what may be private in a text, as it stands there and in its order. Digits of all scripts count."""
    left = _HARMLESS.sub(_blanked, text.translate(_TO_ASCII))
    found: list[tuple[int, PrivateDetail]] = []
    for kind, pattern in _PATTERNS:
        found += [
            (match.start(), PrivateDetail(kind, text[match.start() : match.end()])) for match in pattern.finditer(left)
        ]
        left = pattern.sub(_blanked, left)
    return [detail for _start, detail in sorted(found)]


def _blanked(match: re.Match[str]) -> str:
    return "\n" * len(match[0])
