"""Who may play, and who may set up and read seasons: from (user, slug) to the row, or 404."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from core.people.models import Membership, Role, User
from core.people.permissions import READERS, project_for
from core.people.selectors.qualification import still_takes_part
from gapgame.models import ItemSet, Player, Season, SeasonAccess, Turn


def season_for(user: User | AnonymousUser, slug: str, season_slug: str, *roles: Role) -> Season:
    """Return a season of the project `slug`, for its managers and researchers (or those with one of `roles`)."""
    project = project_for(user, slug, *(roles or READERS))
    return get_object_or_404(Season.objects.select_related("project", "item_set"), slug=season_slug, project=project)


def item_set_for(user: User | AnonymousUser, slug: str, item_set_id: int, *roles: Role) -> ItemSet:
    """Return items with their words, for managers and researchers of the project."""
    project = project_for(user, slug, *(roles or READERS))
    return get_object_or_404(ItemSet.objects.select_related("project", "collection"), pk=item_set_id, project=project)


def seasons_open_to(user: User | AnonymousUser) -> QuerySet[Season]:
    """Return seasons that `user` may see as a player: open ones, and those of projects in which they are a player."""
    mine = Membership.objects.filter(user=user.pk, role=Role.PLAYER).values("project")
    return Season.objects.filter(Q(access=SeasonAccess.OPEN) | Q(project__in=mine), project__archived_at=None)


def season_to_play(user: User | AnonymousUser, season_slug: str) -> Season:
    """Return a season as players see it."""
    season = seasons_open_to(user).select_related("project", "invitation").filter(slug=season_slug).first()
    if season is None:
        raise Http404(_("You have no such season."))
    return season


def player_for(user: User | AnonymousUser, season_slug: str) -> Player:
    """Return the user's own player row in a season."""
    return get_object_or_404(Player.objects.select_related("season__project"), season__slug=season_slug, user=user.pk)


def turn_for(user: User | AnonymousUser, turn_id: UUID) -> Turn:
    """Return the user's own turn, once it was opened; do not show them the word while it is unfinished."""
    turns = Turn.objects.select_related("player__season", "batch", "item__language")
    return get_object_or_404(turns.exclude(opened_at=None), pk=turn_id, player__user=user.pk)


def turn_shown_to(user: User | AnonymousUser, turn_id: UUID) -> Turn:
    """Return the same as `turn_for`, with only what its images need."""
    return get_object_or_404(Turn.objects.exclude(opened_at=None), pk=turn_id, player__user=user.pk)


def may_play(user: User, season: Season, now: datetime) -> bool:
    """Return whether `user` is a player, agreed to the newest consent text, and the season is open."""
    is_on = season.closed_at is None and season.starts_at <= now < season.ends_at
    return is_on and still_takes_part(user, season.project_id, Role.PLAYER, unless_archived=True)
