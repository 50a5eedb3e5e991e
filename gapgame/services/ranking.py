"""Totals and ranks, and who is left out of them: play that looks scripted, managers' decisions, withdrawals."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import F

from core.compiled_query import save_columns
from core.people.models import Project, User
from core.people.services import audit_log
from gapgame.models import UNFINISHED, Attempt, Mark, Player, PlayerStatus, ScoreCount, Season, Turn, TurnOutcome
from gapgame.rules.play import BREAK, LEVELS, LOOKED_AT, TIRELESS, FinishedTurn, TurnScriptRule, rules_broken

DECISIONS = (PlayerStatus.CLEARED, PlayerStatus.SET_ASIDE, PlayerStatus.PLAYING)
"""What managers may decide about a player."""
PLAYERS_AT_ONCE = 500
MAX_DETAIL_CHARACTERS = 200
SCORED = (TurnOutcome.ATTEMPT_1, TurnOutcome.ATTEMPT_2, TurnOutcome.ATTEMPT_3, TurnOutcome.FAILED, TurnOutcome.CUT_OFF)


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


def withdraw_answers(*, project: Project, person: User, keeps_answers: bool, now: datetime) -> int:
    """Unless turns are kept, remove the player from every leaderboard and the turns from reports and files.

    Returns how many turns that were. They stay stored. Closed seasons are ranked again.
    """
    if keeps_answers:
        return 0
    removed = 0
    for season in Season.objects.filter(project=project, players__user=person).order_by("pk"):
        locked = Season.objects.select_for_update(no_key=True).get(pk=season.pk)
        player = Player.objects.select_for_update(no_key=True).get(season=locked, user=person)
        if player.status == PlayerStatus.WITHDRAWN:
            continue
        player.status, player.is_on_leaderboard = PlayerStatus.WITHDRAWN, False
        player.save(update_fields=["status", "is_on_leaderboard"])
        removed += player.turns
        if locked.closed_at is not None:
            give_ranks(season=locked)
    return removed


def forget(*, person: User, now: datetime) -> None:
    """Free the nicknames of `person`, and remove them from leaderboards; ranks stay."""
    for player in Player.objects.filter(user=person).order_by("season", "pk").select_for_update(no_key=True):
        player.nickname, player.is_on_leaderboard = f"deleted-{uuid4().hex[:12]}", False
        player.save(update_fields=["nickname", "is_on_leaderboard"])
