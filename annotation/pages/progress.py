"""Figures of rounds and people as text."""

from __future__ import annotations

from annotation.selectors.figures import SharedRatings
from charts import texts

NO_VALUE = "–"
SEEN_DIGITS = 16


def minutes(value: float | None) -> str:
    return NO_VALUE if value is None else texts.plain_number(value, 1)


def exact_share(shared: SharedRatings | None) -> str:
    return NO_VALUE if shared is None or shared.exact is None else texts.percentage(100 * shared.exact, 0)


def alpha(shared: SharedRatings | None) -> str:
    """Format a value; empty if there is none."""
    return "" if shared is None or shared.alpha is None else f"α {texts.plain_number(shared.alpha, 2)}"
