"""Dates, times, numbers and money as the Common Locale Data Repository (CLDR) writes them in a language, by ICU.

Digits are 0 to 9 everywhere: see docs/decisions/0090-dates-and-numbers-by-icu.md."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

from icu4py.messageformat import MessageFormat

DAY = "yMMMMd"
MOMENT = "yMMMdjm"
MOMENT_WITHOUT_YEAR = "MMMdjm"
DAY_OF_CHART = "MMMd"
DAY_OF_TABLE = "yMMMd"
TIME = "jm"
WITH_ZONE = "z"
"""Skeletons of CLDR: which parts a date has. The language gives their order, and a clock of 12 or 24 hours."""

_OTHER_NAMES = {"en": "en_GB", "quz": "qu", "zh-hans": "zh"}
"""What ICU calls a language that the pages call otherwise. English pages are in British English."""


def date_text(at: date, language: str, skeleton: str = DAY, zone: str = "UTC") -> str:
    """Return a day or time as it is written in `language`, which is Django's name of it.

    A time that is aware is shown in `zone`, a name such as Europe/Paris; one that is not is shown as it is."""
    if not isinstance(at, datetime):
        at = datetime.combine(at, time())
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return _written(f"{{value, date, ::{skeleton}}}", at, language, zone)


def number_text(value: float, language: str) -> str:
    """Return a number with the separators of `language`: 12,345, 12.345 or 12 345."""
    return _written("{value, number}", value, language, "UTC")


def money_text(amount: Decimal, currency: str, language: str) -> str:
    """Return an amount with its currency, three capital letters: €12.50, 12,50 € or 12.50 €.

    Some currencies have no smaller unit in CLDR: a fraction that is promised is written all the same.
    """
    cents = "" if amount == amount.to_integral_value() else " .00"
    return _written(f"{{value, number, ::currency/{currency}{cents}}}", amount, language, "UTC")


def _written(pattern: str, value: datetime | float | Decimal, language: str, zone: str) -> str:
    locale = f"{_OTHER_NAMES.get(language, language or 'en_GB')}@timezone={zone};numbers=latn"
    return str(MessageFormat(pattern, locale).format({"value": value}))
