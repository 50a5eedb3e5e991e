"""Figures of rounds and people as text, and choices in filters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from annotation.selectors.figures import Shared
from charts import texts

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

NOTHING = "–"
SEEN_DIGITS = 16


@dataclass(frozen=True)
class Choice:
    value: str
    label: str
    is_chosen: bool


def choices(known: Iterable[tuple[str, str | StrPromise]], chosen: str) -> list[Choice]:
    return [Choice(str(value), str(label), value == chosen) for value, label in known]


def minutes(value: float | None) -> str:
    return NOTHING if value is None else texts.plain(value, 1)


def exact(shared: Shared | None) -> str:
    return NOTHING if shared is None or shared.exact is None else texts.percent(100 * shared.exact, 0)


def alpha(shared: Shared | None) -> str:
    """Format a value; empty if there is none."""
    return "" if shared is None or shared.alpha is None else f"α {texts.plain(shared.alpha, 2)}"
