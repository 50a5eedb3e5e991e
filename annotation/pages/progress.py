"""Figures of rounds and people as text."""

from __future__ import annotations

from hashlib import sha256

from annotation.selectors.figures import SharedRatings
from charts import texts

NO_VALUE = "–"
SEEN_DIGITS = 16


def seen_of(everything: object) -> str:
    """Identify what a page shows, so that the same is not sent to it again."""
    return sha256(repr(everything).encode()).hexdigest()[:SEEN_DIGITS]


def minutes(value: float | None) -> str:
    return NO_VALUE if value is None else texts.plain_number(value, 1)


def exact_share(shared: SharedRatings | None) -> str:
    return NO_VALUE if shared is None or shared.exact is None else texts.percentage(100 * shared.exact, 0)


def alpha(shared: SharedRatings | None) -> str:
    """Format a value; empty if there is none."""
    return "" if shared is None or shared.alpha is None else f"α {texts.coefficient(shared.alpha, 2)}"
