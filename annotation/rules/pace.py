"""The pace of work, and the date when it would be finished: from how much was done on which day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from math import ceil

WINDOW_DAYS = 7
MAX_DAYS_AHEAD = 3650
"""Estimates further away than this are not given a date."""


@dataclass(frozen=True)
class WorkPace:
    """Pace over the last `days`, including today: fewer than the window if work began later."""

    done: int
    days: int

    @property
    def per_day(self) -> float:
        return self.done / self.days

    def ends_on(self, left: int, *, today: date) -> date | None:
        """Return the day when the last of `left` would be done; None if nothing is left or it is too far off."""
        if left <= 0 or not self.done:
            return None
        days = ceil(Fraction(left * self.days, self.done))
        return today + timedelta(days=days) if days <= MAX_DAYS_AHEAD else None


@lru_cache(maxsize=8)
def window(today: date) -> tuple[str, ...]:
    """Return the days that count, from today back."""
    return tuple((today - timedelta(days=ago)).isoformat() for ago in range(WINDOW_DAYS))


def pace(days: Mapping[str, int], *, total: int, today: date) -> WorkPace:
    """Compute the pace; `days` has how much was done by day, such as {“2026-11-21”: 15}, at least in the window.

    `total` is all that was ever done: if it is more than that, work began before the window.
    """
    counts = [days.get(day, 0) for day in window(today)]
    if total > sum(counts):
        return WorkPace(sum(counts), WINDOW_DAYS)
    return WorkPace(total, max((ago for ago, count in enumerate(counts, 1) if count), default=1))
