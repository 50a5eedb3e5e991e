"""The end of a season: turns in progress are scored, ranks are given, and the leaderboard is published."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from core.people.services import audit_log
from gapgame.models import Attempt, Player, Season, Turn, TurnOutcome
from gapgame.services.marking import check_players
from gapgame.services.playing import finish
from gapgame.services.ranking import give_ranks

GRACE = timedelta(seconds=10)
"""A guess that arrived before the cut-off is stored by then, however busy the server is."""

PLAYERS_AT_ONCE = 500


def close_overdue(*, now: datetime) -> int:
    """Close every season whose cut-off has passed; return how many were closed."""
    overdue = Season.objects.filter(closed_at=None, ends_at__lte=now - GRACE)
    for season in overdue:
        close_season(season_id=season.pk, now=now)
    return len(overdue)


def is_overdue(season: Season, *, now: datetime) -> bool:
    return season.closed_at is None and now >= season.ends_at + GRACE


def close_season(*, season_id: int, now: datetime) -> None:
    """Score turns in progress from the guesses before the cut-off, then rank; safe to interrupt and repeat.

    Raises
    ------
    ValueError
        The cut-off, with the grace for what is being written, has not passed.
    """
    season = Season.objects.get(pk=season_id)
    if season.closed_at is not None:
        return
    if now < season.ends_at + GRACE:
        raise ValueError(f"Season {season.slug} ends at {season.ends_at.isoformat()}; now it is {now.isoformat()}.")
    open_turns = Turn.objects.filter(player__season=season, outcome=TurnOutcome.OPEN)
    while players := list(open_turns.order_by("player").values_list("player", flat=True)[:PLAYERS_AT_ONCE]):
        for player in players:
            _cut_off(player, season)
    check_players(season_id=season.pk, now=now)
    with transaction.atomic():
        season = Season.objects.select_for_update(no_key=True).get(pk=season_id)
        if season.closed_at is None:
            give_ranks(season=season)
            season.closed_at = now
            season.save(update_fields=["closed_at"])
            audit_log.record(project=season.project, action="season.closed", about=season.slug, by=None, now=now)


def _cut_off(player_id: int, season: Season) -> None:
    with transaction.atomic():
        player = Player.objects.select_for_update(of=("self",), no_key=True).select_related("season").get(pk=player_id)
        turn = Turn.objects.filter(player=player, outcome=TurnOutcome.OPEN).first()
        if turn is None:
            return
        turn.player = player
        attempts: list[Attempt] = list(turn.attempts.all())
        finish(turn=turn, outcome=TurnOutcome.CUT_OFF, attempts=attempts, now=season.ends_at)
