"""Seasons as players see them: open, coming and over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, QuerySet

from core.people.models import Membership, Role, User
from core.people.rules.markdown import to_html
from core.people.selectors.qualification import still_takes_part
from gapgame.models import UNFINISHED, Player, Season, SeasonAccess, SeasonLanguage, Turn
from gapgame.selectors.past import BatchSummary, last_batch
from gapgame.selectors.play import PlayerScore, score_of


class SeasonState(StrEnum):
    """`COUNTING`: the cut-off has passed, and the last turns are being scored."""

    COMING = "coming"
    ON = "on"
    COUNTING = "counting"
    CLOSED = "closed"


@dataclass(frozen=True)
class SeasonPage:
    """A season's own page, for people who may or may not take part yet.

    `needs`: what to do first: "sign-in" (open to everybody, with `join_token`), "invitation" (signed in, but no player
    of the project), "consent", "address" (to be confirmed), or "" for those who can join or have joined.
    """

    season: Season
    state: SeasonState
    description: str
    prizes: str
    languages: list[SeasonLanguage]
    needs: str
    join_token: str
    player: Player | None
    score: PlayerScore | None
    batch: BatchSummary | None
    has_turns_left: bool


def state_of(season: Season, now: datetime) -> SeasonState:
    if season.closed_at is not None:
        return SeasonState.CLOSED
    if now < season.starts_at:
        return SeasonState.COMING
    return SeasonState.ON if now < season.ends_at else SeasonState.COUNTING


def listed_seasons(seasons: QuerySet[Season], viewer: User, now: datetime) -> Sequence[Season]:
    """Order seasons as players see them, open ones first, then coming ones, then the past; `is_player` is annotated."""
    mine = Player.objects.filter(season=OuterRef("pk"), user=viewer)
    listed = list(seasons.annotate(is_player=Exists(mine)).order_by("ends_at", "pk"))
    over = [season for season in listed if state_of(season, now) in (SeasonState.COUNTING, SeasonState.CLOSED)]
    ahead = [season for season in listed if season not in over]
    return sorted(ahead, key=lambda season: state_of(season, now) != SeasonState.ON) + over[::-1]


def season_page(season: Season, viewer: User | AnonymousUser, now: datetime) -> SeasonPage:
    player = Player.objects.filter(season=season, user=viewer.pk).first() if viewer.pk else None
    if player:
        player.season = season
    token = season.invitation.token if season.access == SeasonAccess.OPEN and season.invitation else ""
    return SeasonPage(
        season=season,
        state=state_of(season, now),
        description=to_html(season.description),
        prizes=to_html(season.prizes),
        languages=list(season.languages.select_related("language")),
        needs=_needs(season, viewer, has_joined=player is not None),
        join_token=token,
        player=player,
        score=score_of(player, None) if player else None,
        batch=last_batch(player) if player else None,
        has_turns_left=bool(player) and Turn.objects.filter(player=player, outcome__in=UNFINISHED).exists(),
    )


def _needs(season: Season, viewer: User | AnonymousUser, *, has_joined: bool) -> str:
    if not isinstance(viewer, User):
        return "sign-in"
    if not Membership.objects.filter(user=viewer, project=season.project_id, role=Role.PLAYER).exists():
        return "invitation"
    if not still_takes_part(viewer, season.project_id, Role.PLAYER):
        return "consent"
    return "address" if season.needs_address and not viewer.email and not has_joined else ""
