"""The pace of work, and the date when it would be finished: from how much was done on which day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from math import ceil

WINDOW_DAYS = 7
MOST_DAYS_AHEAD = 3650
"""Estimates further away than this are not given a date."""


@dataclass(frozen=True)
class Pace:
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
        return today + timedelta(days=days) if days <= MOST_DAYS_AHEAD else None


def pace(days: Mapping[str, int], *, today: date) -> Pace:
    """Compute the pace; `days` has how much was done by day, such as {“2026-11-21”: 15}."""
    window = {(today - timedelta(days=ago)).isoformat() for ago in range(WINDOW_DAYS)}
    done = sum(count for day, count in days.items() if day in window)
    began = min(days, default=today.isoformat())
    since = (today - date.fromisoformat(began)).days + 1
    return Pace(done, max(1, min(WINDOW_DAYS, since)))
