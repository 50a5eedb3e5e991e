"""What players see besides a turn: seasons, their own record, and the leaderboard of a closed season."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from core.people.models import Membership, Role, User
from core.people.rules.markdown import to_html
from core.people.selectors.qualification import still_takes_part
from gapgame.models import (
    UNFINISHED,
    GameBatch,
    Player,
    PlayerStatus,
    Season,
    SeasonAccess,
    Turn,
    TurnOutcome,
)
from gapgame.rules.play import MICRO, points_shown
from gapgame.selectors.outlooks import PlayedLanguage, add_languages, played_by_all
from gapgame.selectors.play import FOUND, TurnPage, score_of, turn_page

LOOKED_AT_AGAIN = 12
SHOWN = {"found": Q(outcome__in=FOUND), "missed": Q(outcome__in=[TurnOutcome.FAILED, TurnOutcome.CUT_OFF])}
ROWS = 50


def past_turns(
    player: Player, show: str, page: str | None, *, per_page: int, now: datetime
) -> tuple[Page[Turn], list[TurnPage]]:
    """A page of finished turns, the last one first; `show` is "found", "missed" or anything else for all."""
    finished = Turn.objects.filter(player=player).exclude(outcome__in=UNFINISHED).filter(SHOWN.get(show, Q()))
    matching = finished.select_related("player", "batch", "item__language").prefetch_related("attempts")
    turns = Paginator(matching.order_by("-finished_at", "-batch__number", "-position"), per_page).get_page(page)
    return turns, [turn_page(turn, now=now) for turn in turns.object_list]


def last_batch(player: Player, languages: Sequence[PlayedLanguage]) -> dict[str, Any] | None:
    """Describe the player's newest batch, if it is done. `tallies`: how many turns ended how, the words found first.

    `nearest` is the closest wrong guess, if any: guess, word, percentage. `best_before`: the points of the best earlier
    batch of the same size; None if there is none. `again`: the first turns whose word was not found, to look at once
    more; `more_missed` counts the others. `played`: its language among `languages`, `done` and `wanted` everybody's
    sentences in it.
    """
    batch = player.batches.order_by("-number").first()
    if batch is None or batch.all_turns.filter(outcome__in=UNFINISHED).exists():
        return None
    turns: QuerySet[Turn] = batch.all_turns.all()
    counts = turns.aggregate(
        size=Count("pk"),
        score=Sum("score"),
        **{outcome.value: Count("pk", filter=Q(outcome=outcome)) for outcome in TurnOutcome},
    )
    missed = counts["failed"] + counts["cut_off"]
    done, wanted = played_by_all(player.season, batch.language_id)
    tallies = {
        _("At the first guess"): counts["attempt_1"],
        _("At the second guess"): counts["attempt_2"],
        _("At the third guess"): counts["attempt_3"],
        _("Not found"): missed,
        _("Skipped"): counts["skipped"],
    }
    return {
        "batch": batch,
        "size": counts["size"],
        "tallies": tallies,
        "points": points_shown(counts["score"] or 0),
        "best_before": _best_before(batch, counts["size"]),
        "best_streak": _best_streak(turns),
        "nearest": _nearest(turns),
        "again": list(
            turns.filter(SHOWN["missed"]).select_related("item__language").order_by("position")[:LOOKED_AT_AGAIN]
        ),
        "more_missed": max(0, missed - LOOKED_AT_AGAIN),
        "played": next((one for one in languages if one.language.pk == batch.language_id), None),
        "done": done,
        "wanted": wanted,
    }


def _best_before(batch: GameBatch, size: int) -> int | None:
    earlier = GameBatch.objects.filter(player=batch.player_id, number__lt=batch.number)
    totals = earlier.annotate(size=Count("all_turns"), total=Sum("all_turns__score")).filter(size=size)
    best = totals.aggregate(best=Max("total"))["best"]
    return None if best is None else points_shown(best)


def _best_streak(turns: QuerySet[Turn]) -> int:
    """Count words found in a row within the batch; a skipped sentence ends the row."""
    outcomes = turns.exclude(outcome=TurnOutcome.SKIPPED).order_by("position").values_list("outcome", flat=True)
    return max((len(list(run)) for is_found, run in groupby(outcomes, FOUND.__contains__) if is_found), default=0)


def _nearest(turns: QuerySet[Turn]) -> tuple[str, str, int] | None:
    """Return guess, word and percentage of the closest wrong guess; skipped sentences keep their words secret."""
    known = turns.exclude(outcome=TurnOutcome.SKIPPED)
    best = known.aggregate(best=Max("attempts__similarity", filter=Q(attempts__similarity__lt=MICRO)))["best"]
    if not best:
        return None
    guesses = known.filter(attempts__similarity=best).values_list("attempts__guess", "item__word").order_by("position")
    guess, word = guesses[0]
    return guess, word, 100 * best // MICRO


class SeasonState(StrEnum):
    """`COUNTING`: the cut-off has passed, and the last turns are being scored."""

    COMING = "coming"
    ON = "on"
    COUNTING = "counting"
    CLOSED = "closed"


def state_of(season: Season, now: datetime) -> SeasonState:
    if season.closed_at is not None:
        return SeasonState.CLOSED
    if now < season.starts_at:
        return SeasonState.COMING
    return SeasonState.ON if now < season.ends_at else SeasonState.COUNTING


def listed_seasons(seasons: QuerySet[Season], viewer: User | AnonymousUser, now: datetime) -> Sequence[Season]:
    """Order seasons as players see them, open ones first, then coming ones, then the past; `is_player` is annotated."""
    mine = Player.objects.filter(season=OuterRef("pk"), user=viewer.pk)
    listed = list(seasons.annotate(is_player=Exists(mine)).order_by("ends_at", "pk"))
    over = [season for season in listed if state_of(season, now) in (SeasonState.COUNTING, SeasonState.CLOSED)]
    ahead = [season for season in listed if season not in over]
    return sorted(ahead, key=lambda season: state_of(season, now) != SeasonState.ON) + over[::-1]


def season_page(season: Season, viewer: User | AnonymousUser, now: datetime) -> dict[str, Any]:
    """Describe a season's own page, for people who may or may not take part yet.

    `needs`: what to do first: "sign-in" (open to everybody, with `join_token`), "invitation" (signed in, but no player
    of the project), "consent", "address" (to be confirmed), or "" for those who can join or have joined.
    """
    player = Player.objects.filter(season=season, user=viewer.pk).first() if viewer.pk else None
    if player:
        player.season = season
    state = state_of(season, now)
    add_languages([season], viewer)
    languages: Sequence[PlayedLanguage] = season.played  # type: ignore[attr-defined]
    token = season.invitation.token if season.access == SeasonAccess.OPEN and season.invitation else ""
    return {
        "season": season,
        "state": state,
        "description": to_html(season.description),
        "prizes": to_html(season.prizes),
        "languages": languages,
        "needs": _needs(season, viewer, has_joined=player is not None),
        "join_token": token,
        "player": player,
        "score": score_of(player, None) if player else None,
        "batch": last_batch(player, languages) if player and state == SeasonState.ON else None,
        "has_turns_left": bool(player) and Turn.objects.filter(player=player, outcome__in=UNFINISHED).exists(),
    }


def _needs(season: Season, viewer: User | AnonymousUser, *, has_joined: bool) -> str:
    if not isinstance(viewer, User):
        return "sign-in"
    if not Membership.objects.filter(user=viewer, project=season.project_id, role=Role.PLAYER).exists():
        return "invitation"
    if not still_takes_part(viewer, season.project_id, Role.PLAYER):
        return "consent"
    return "address" if season.needs_address and not viewer.email and not has_joined else ""


@dataclass(frozen=True)
class LeaderboardRow:
    """`nickname` is "" for players who prefer not to be named."""

    rank: int
    nickname: str
    points: int
    turns: int
    best_streak: int
    is_me: bool


def leaderboard_page(season: Season, viewer: User | AnonymousUser, asked: str | None) -> dict[str, Any]:
    """Return page `asked` of the leaderboard: ranks `first` to `last`, which cost the same on any page.

    Players who prefer not to be named are left out. `me` is the viewer's own row.
    """
    players = Player.objects.filter(season=season)
    ranked = players.aggregate(last=Max("rank"))["last"] or 0
    pages = max(1, -(-ranked // ROWS))
    # There are fewer ranks than nine digits can count.
    number = max(1, min(int(asked[:9]), pages)) if asked and asked.isdecimal() else 1
    first, last = (number - 1) * ROWS + 1, min(number * ROWS, ranked)
    shown = players.filter(rank__range=(first, last), is_on_leaderboard=True).order_by("rank")
    mine = players.filter(user=viewer.pk, rank__isnull=False).first()
    return {
        "rows": [_row(player, viewer) for player in shown],
        "number": number,
        "pages": pages,
        "first": first,
        "last": last,
        "ranked": ranked,
        "set_aside": _set_aside(season),
        "me": _row(mine, viewer) if mine else None,
    }


def winners_of(season: Season) -> list[LeaderboardRow]:
    """Return winner and runner-up of a closed season; fewer if fewer have a rank."""
    if season.closed_at is None:
        return []
    best = Player.objects.filter(season=season, rank__in=(1, 2)).order_by("rank")
    return [_row(player, AnonymousUser()) for player in best]


def _set_aside(season: Season) -> int:
    played = Player.objects.filter(season=season, turns__gte=1, rank=None)
    marked = (
        played.filter(is_marked=True)
        .exclude(status__in=[PlayerStatus.CLEARED, PlayerStatus.SET_ASIDE, PlayerStatus.WITHDRAWN])
        .count()
    )
    return marked + played.filter(status=PlayerStatus.SET_ASIDE).count()


def _row(player: Player, viewer: User | AnonymousUser) -> LeaderboardRow:
    is_me = viewer.pk is not None and player.user_id == viewer.pk
    return LeaderboardRow(
        rank=player.rank or 0,
        nickname=player.nickname if player.is_on_leaderboard or is_me else "",
        points=points_shown(player.total),
        turns=player.turns,
        best_streak=player.best_streak,
        is_me=is_me,
    )
