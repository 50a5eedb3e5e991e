"""Where a player stands while a season is on: one percentage, and nothing that a table could be rebuilt from."""

from __future__ import annotations

from django.db.models import Q, Sum

from gapgame.models import Player, ScoreCount
from gapgame.rules.standing import LEVELS, percent_below

GLANCE = 2000
"""So many players of one stretch are counted one by one before the other side of the stretch is tried."""


def percent_of(player: Player) -> int | None:
    """Above how many percent of all players with a scored turn `player` is; None before their own first one."""
    if not player.turns:
        return None
    lower, players = counts_of(player.season_id, player.total)
    return percent_below(lower, players)


def counts_of(season_id: int, total: int) -> tuple[int, int]:
    """How many players of a season have a lower total than `total`, and how many there are. Exact, and live."""
    lower = Q(pk__in=[])
    for level, wider in zip(LEVELS, (*LEVELS[1:], None), strict=True):
        # Below the stretch of the next wider level that `total` is in, the wider level counts.
        first = 0 if wider is None else (total >> wider) << (wider - level)
        lower |= Q(level=level, stretch__gte=first, stretch__lt=total >> level)
    fine, coarse = LEVELS[0], LEVELS[-1]
    here = Q(level=fine, stretch=total >> fine)
    found = ScoreCount.objects.filter(lower | here | Q(level=coarse), season=season_id).aggregate(
        below=Sum("players", filter=lower),
        here=Sum("players", filter=here),
        all=Sum("players", filter=Q(level=coarse)),
    )
    lower_in_stretch = _lower_in_stretch(season_id, total, found["here"] or 0)
    return (found["below"] or 0) + lower_in_stretch, found["all"] or 0


def _lower_in_stretch(season_id: int, total: int, here: int) -> int:
    """Of the `here` players in the stretch of `total`, those with less.

    Many may have the very same total, below or above; few have it on both sides.
    """
    start = total >> LEVELS[0] << LEVELS[0]
    end = start + (1 << LEVELS[0])
    scored = Player.objects.filter(season=season_id, turns__gte=1)
    lower = scored.filter(total__gte=start, total__lt=total)
    if (few := lower[:GLANCE].count()) < GLANCE:
        return few
    not_lower = scored.filter(total__gte=total, total__lt=end)
    if (few := not_lower[:GLANCE].count()) < GLANCE:
        return here - few
    return lower.count()
