"""A player's position during a season: one percentage, from which no table can be rebuilt."""

from __future__ import annotations

from django.db import connection

from gapgame.models import Player, ScoreCount
from gapgame.rules.percentiles import LEVELS, percent_below

GLANCE = 2000
"""So many players of one range are counted one by one before the other side of the range is tried."""


def percent_of(player: Player) -> int | None:
    """Return the percentage of players with a scored turn whom `player` is above; None before their own first."""
    if not player.turns:
        return None
    lower, players = counts_of(player.season_id, player.total)
    return percent_below(lower, players)


def counts_of(season_id: int, total: int) -> tuple[int, int]:
    """Count how many players of a season have a lower total than `total`, and all players. Exact and live."""
    rows, values = [], []
    for level, wider in zip(LEVELS, (*LEVELS[1:], None), strict=True):
        # Below the range of the next wider level that has `total`, the wider level counts.
        first = 0 if wider is None else (total >> wider) << (wider - level)
        rows.append("WHEN level = %s AND stretch >= %s AND stretch < %s THEN players")
        values += [level, first, total >> level]
    fine, coarse = LEVELS[0], LEVELS[-1]
    table = connection.ops.quote_name(ScoreCount._meta.db_table)
    with connection.cursor() as cursor:
        # Plain SQL: built by Django it takes three times as long, and every guess that ends a turn waits for it.
        cursor.execute(
            f"SELECT COALESCE(SUM(CASE {' '.join(rows)} ELSE 0 END), 0),"  # noqa: S608
            " COALESCE(SUM(CASE WHEN level = %s AND stretch = %s THEN players ELSE 0 END), 0),"
            " COALESCE(SUM(CASE WHEN level = %s THEN players ELSE 0 END), 0)"
            f" FROM {table} WHERE season_id = %s AND (level = %s"
            + " OR (level = %s AND stretch BETWEEN %s AND %s)" * (len(LEVELS) - 1)
            + ")",
            [
                *values,
                *(fine, total >> fine),
                coarse,
                *(season_id, coarse),
                *(value for which in range(len(LEVELS) - 1) for value in values[3 * which : 3 * which + 3]),
            ],
        )
        below, here, players = map(int, cursor.fetchone())
    return below + _lower_in_stretch(season_id, total, here), players


def _lower_in_stretch(season_id: int, total: int, here: int) -> int:
    """Count, among the `here` players in the range of `total`, those with less.

    Many may have the very same total, below or above; few have it on both sides.
    """
    start = total >> LEVELS[0] << LEVELS[0]
    end = start + (1 << LEVELS[0])
    players = Player.objects.filter(season=season_id, turns__gte=1)
    below, above = players.filter(total__gte=start, total__lt=total), players.filter(total__gte=total, total__lt=end)
    if (few := below[:GLANCE].count()) < GLANCE:
        return few
    if (few := above[:GLANCE].count()) < GLANCE:
        return here - few
    return below.count()
