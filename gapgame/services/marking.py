"""Checking play for scripts, and managers' decisions about marked players."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise

from django.db import transaction
from django.db.models import F

from core.people.models import User
from core.people.services import audit_log
from gapgame.models import UNFINISHED, Attempt, Mark, Player, PlayerStatus, Season, Turn, TurnOutcome
from gapgame.rules.scripted import BREAK, LOOKED_AT, TIRELESS, FinishedTurn, TurnScriptRule, rules_broken
from gapgame.services.ranking import give_ranks

PLAYERS_AT_ONCE = 500
MAX_DETAIL_CHARACTERS = 200
SCORED = (TurnOutcome.ATTEMPT_1, TurnOutcome.ATTEMPT_2, TurnOutcome.ATTEMPT_3, TurnOutcome.FAILED, TurnOutcome.CUT_OFF)


def check_players(*, season_id: int | None = None, now: datetime) -> int:
    """Check all who have played since they were last checked; return how many."""
    waiting = Player.objects.filter(turns__gt=F("turns_checked"))
    if season_id is not None:
        waiting = waiting.filter(season=season_id)
    checked = 0
    after = 0
    while players := list(waiting.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:PLAYERS_AT_ONCE]):
        for player_id in players:
            _check(player_id, now)
        checked += len(players)
        after = players[-1]
    return checked


def _check(player_id: int, now: datetime) -> None:
    with transaction.atomic():
        player = Player.objects.select_for_update(no_key=True).get(pk=player_id)
        turns = list(
            Turn.objects.filter(player=player, outcome__in=SCORED)
            .order_by("-finished_at", "-batch__number", "-position")
            .prefetch_related("attempts")[:LOOKED_AT]
        )
        turns.reverse()
        played = [_played(turn, turn.attempts.all()) for turn in turns]
        unseen = player.turns - player.turns_checked
        marks = [
            Mark(player=player, turn=turn, rule=TurnScriptRule.FAST, made_at=now, detail=f"{about.seconds[0]:.2f} s")
            for turn, about in list(zip(turns, played, strict=True))[-unseen:]
            if about.is_fast
        ]
        broken = rules_broken(played, on_end_since=_on_end_since(player))
        # Normalising can make a guess many times longer.
        marks += [
            Mark(player=player, rule=rule, detail=about[:MAX_DETAIL_CHARACTERS], made_at=now)
            for rule, about in broken.items()
        ]
        # An existing mark is not changed.
        Mark.objects.bulk_create(marks, ignore_conflicts=True)
        player.turns_checked = player.turns
        player.is_marked = player.is_marked or bool(broken)
        player.save(update_fields=["turns_checked", "is_marked"])


def _played(turn: Turn, attempts: Iterable[Attempt]) -> FinishedTurn:
    made = list(attempts)
    assert turn.opened_at is not None
    assert turn.finished_at is not None
    times = [turn.opened_at, *(attempt.made_at for attempt in made)]
    return FinishedTurn(
        opened_at=turn.opened_at,
        finished_at=turn.finished_at,
        guesses=tuple(attempt.guess for attempt in made),
        seconds=tuple((after - before).total_seconds() for before, after in pairwise(times)),
        is_found_at_once=turn.outcome == TurnOutcome.ATTEMPT_1,
    )


def _on_end_since(player: Player) -> datetime | None:
    """Return when the player last took a break, looking back no further than the rule does.

    A turn that stayed open for as long as a break counts as one.
    """
    finished = Turn.objects.filter(player=player).exclude(outcome__in=UNFINISHED).order_by("-finished_at")
    last = finished.first()
    if last is None or last.finished_at is None:
        return None
    since = last.finished_at
    window = finished.filter(finished_at__gt=last.finished_at - TIRELESS - timedelta(hours=1))
    for turn in window.only("opened_at", "finished_at").iterator(chunk_size=500):
        if turn.opened_at is None or turn.finished_at is None:
            break
        if max(since - turn.finished_at, turn.finished_at - turn.opened_at) > BREAK:
            break
        since = turn.opened_at
    return since


def decide(*, player_id: int, season: Season, status: PlayerStatus, by: User, now: datetime) -> Player:
    """Clear a player or set them aside; once the season is closed, rank again.

    Players who withdrew their answers stay out.
    """
    with transaction.atomic():
        locked = Season.objects.select_for_update(no_key=True).get(pk=season.pk)
        player = Player.objects.select_for_update(no_key=True).get(pk=player_id, season=locked)
        if player.status == PlayerStatus.WITHDRAWN:
            return player
        player.status = status
        player.save(update_fields=["status"])
        audit_log.record(
            project=season.project,
            action="player.decided",
            about=str(status),
            by=by,
            person=player.user,
            now=now,
            details={"season": season.slug},
        )
        if locked.closed_at is not None:
            give_ranks(season=locked)
    return player
