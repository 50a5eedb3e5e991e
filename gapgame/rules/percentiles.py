"""How a percentage of players is summed up, and how a leaderboard is ordered."""

from __future__ import annotations

LEVELS = (14, 19, 24)
"""Widths of the stretches of totals that players are counted in, 2**L millionths: 0.016 to 16.8 points."""


def percent_below(lower: int, players: int) -> int:
    """The whole percentage of all `players` whose total is lower, rounded down: 100 is never claimed."""
    return 100 * lower // players if players else 0
