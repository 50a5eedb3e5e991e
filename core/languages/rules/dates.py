"""How dates are written in each language of the pages, as in CLDR; some of Django's formats differ from it."""

from __future__ import annotations

import re

_OF_MOST = "j F Y"
_DAY_WITH_POINT = "j. F Y"
_MONTH_IN_GENITIVE = "j E Y"
_WITH_DE = r"j \d\e F \d\e Y"
_FORMS = {
    "bn": "j F, Y",
    "cs": "j. E Y",
    "da": _DAY_WITH_POINT,
    "de": _DAY_WITH_POINT,
    "el": _MONTH_IN_GENITIVE,
    "es": _WITH_DE,
    "fi": "j. E Y",
    "fil": "F j, Y",
    "he": "j בF Y",
    "hr": "j. E Y.",
    "hu": "Y. F j.",
    "ja": "Y年n月j日",
    "ko": "Y년 n월 j일",
    "nb": _DAY_WITH_POINT,
    "pl": _MONTH_IN_GENITIVE,
    "pt": _WITH_DE,
    "ru": "j E Y г.",
    "te": "j F, Y",
    "uk": "j E Y р.",
    "vi": r"j \t\há\n\g n, Y",
    "zh-hans": "Y年n月j日",
}
"""Formats of Django's `date`: F is the name of the month, E the form that it has beside a day."""
_YEAR = re.compile(r"(,| \\d\\e)? Y( [гр])?\.?$|^Y[年.년] ?")
LOWER_CASE = frozenset({"it", "pt", "ro"})
"""Where names of months begin with a small letter, although Django's do not."""
_BEFORE_TIME = {"ar": "، ", "fa": "، ", "ja": " ", "ko": " ", "zh-hans": " "}


def date_form(language: str) -> str:
    """Return the format of a date in a language of the pages, by Django's name of it."""
    return _FORMS.get(language, _OF_MOST)


def moment_form(language: str, *, has_year: bool = True) -> str:
    """Return the format of a date with the time of the day."""
    day = date_form(language)
    return f"{day if has_year else _YEAR.sub('', day)}{_BEFORE_TIME.get(language, ', ')}H:i"
