"""Totals, the counts that percentages are summed from, and ranks."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from core.compiled_query import save_columns
from gapgame.models import Player, PlayerStatus, ScoreCount, Season
from gapgame.rules.percentiles import LEVELS


def add_to_total(*, player: Player, score: int, is_found: bool, reached_at: datetime) -> None:
    """Add a turn's score to the total of a locked player."""
    before = player.total if player.turns else None
    player.turns += 1
    player.total += score
    if score or player.reached_at is None:
        player.reached_at = reached_at
    player.streak = player.streak + 1 if is_found else 0
    player.best_streak = max(player.best_streak, player.streak)
    save_columns(player, "turns", "total", "reached_at", "streak", "best_streak")
    _recount(player.season_id, before, player.total)


def _recount(season_id: int, before: int | None, after: int) -> None:
    changes = []
    for level in LEVELS:
        old, new = None if before is None else before >> level, after >> level
        if old != new:
            changes += [(level, new, 1)] + ([] if old is None else [(level, old, -1)])
    if not changes:
        return
    table = connection.ops.quote_name(ScoreCount._meta.db_table)
    # In a fixed order, so that no two writers deadlock.
    rows = [(season_id, *change) for change in sorted(changes)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (season_id, level, stretch, players) VALUES "  # noqa: S608
            + ", ".join(["(%s, %s, %s, %s)"] * len(rows))
            + f" ON CONFLICT (season_id, level, stretch) DO UPDATE SET players = {table}.players + excluded.players",
            [value for row in rows for value in row],
        )


def give_ranks(*, season: Season) -> None:
    """Rank players: the highest total first; among equal ones, by reaching it earlier, then by joining earlier.

    Players without a scored turn, those set aside, and marked players who were not cleared get no rank.
    """
    players = connection.ops.quote_name(Player._meta.db_table)
    Player.objects.filter(season=season, rank__isnull=False).update(rank=None)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {players} SET rank = ranked.place FROM ("  # noqa: S608
            f" SELECT id, ROW_NUMBER() OVER (ORDER BY total DESC, reached_at, joined_at, id) AS place FROM {players}"
            " WHERE season_id = %s AND turns > 0 AND (status = %s OR (status = %s AND NOT is_marked))"
            f") AS ranked WHERE ranked.id = {players}.id",
            [season.pk, PlayerStatus.CLEARED, PlayerStatus.PLAYING],
        )
