"""The leaderboard of a closed season: players by rank, with nicknames, unless they asked not to be shown."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import Max

from core.people.models import User
from gapgame.models import Player, PlayerStatus, Season
from gapgame.rules.play import points_shown

ROWS = 50


@dataclass(frozen=True)
class LeaderboardRow:
    """`nickname` is "" for players who prefer not to be named."""

    rank: int
    nickname: str
    points: int
    turns: int
    best_streak: int
    is_me: bool


@dataclass(frozen=True)
class LeaderboardPage:
    """Ranks `first` to `last`; players who prefer not to be named are left out. `me` is the viewer's own row."""

    rows: list[LeaderboardRow]
    number: int
    pages: int
    first: int
    last: int
    ranked: int
    set_aside: int
    me: LeaderboardRow | None


def leaderboard_page(season: Season, viewer: User | AnonymousUser, asked: str | None) -> LeaderboardPage:
    """Return page `asked` of the leaderboard: a range of ranks, which costs the same on any page."""
    players = Player.objects.filter(season=season)
    ranked = players.aggregate(last=Max("rank"))["last"] or 0
    pages = max(1, -(-ranked // ROWS))
    # There are fewer ranks than nine digits can count.
    number = max(1, min(int(asked[:9]), pages)) if asked and asked.isdecimal() else 1
    first, last = (number - 1) * ROWS + 1, min(number * ROWS, ranked)
    shown = players.filter(rank__range=(first, last), is_on_leaderboard=True).order_by("rank")
    mine = players.filter(user=viewer.pk, rank__isnull=False).first()
    return LeaderboardPage(
        rows=[_row(player, viewer) for player in shown],
        number=number,
        pages=pages,
        first=first,
        last=last,
        ranked=ranked,
        set_aside=_set_aside(season),
        me=_row(mine, viewer) if mine else None,
    )


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
