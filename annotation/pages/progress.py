"""Figures of rounds and people as text."""

from __future__ import annotations

from annotation.selectors.figures import Shared
from charts import texts

NOTHING = "–"
SEEN_DIGITS = 16


def minutes(value: float | None) -> str:
    return NOTHING if value is None else texts.plain(value, 1)


def exact(shared: Shared | None) -> str:
    return NOTHING if shared is None or shared.exact is None else texts.percent(100 * shared.exact, 0)


def alpha(shared: Shared | None) -> str:
    """Format a value; empty if there is none."""
    return "" if shared is None or shared.alpha is None else f"α {texts.plain(shared.alpha, 2)}"
