"""How a percentage of players is summed up, and how a leaderboard is ordered."""

from __future__ import annotations

LEVELS = (14, 19, 24)
"""Widths of the ranges of totals in which players are counted, 2**L millionths: 0.016 to 16.8 points."""


def percent_below(lower: int, players: int) -> int:
    """Return the percentage of all `players` with a lower total, rounded down: it is never 100."""
    return 100 * lower // players if players else 0
