"""Pages about players and skipped sentences, and managers' decisions there."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from core.people.models import Role
from core.people.permissions import has_role
from core.people.requests import user_of
from gapgame.models import Player, PlayerStatus, Season
from gapgame.permissions import season_for
from gapgame.selectors.roster import PlayersShown, players_page
from gapgame.selectors.skips import skips_page
from gapgame.services import marking as services

DECISIONS = (PlayerStatus.CLEARED, PlayerStatus.SET_ASIDE, PlayerStatus.PLAYING)
SAID = {
    PlayerStatus.PLAYING: gettext_lazy("The decision about %(player)s was reversed."),
    PlayerStatus.CLEARED: gettext_lazy("%(player)s stays in the ranking, whatever is marked."),
    PlayerStatus.SET_ASIDE: gettext_lazy(
        "%(player)s is set aside. They can continue to play, but cannot win or appear on the leaderboard."
    ),
    PlayerStatus.WITHDRAWN: gettext_lazy(
        "%(player)s withdrew their consent and all their turns, and cannot be restored."
    ),
}


@require_safe
def player_list(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    season = season_for(request.user, slug, season_slug, Role.MANAGER)
    show = _show(request.GET.get("show", ""))
    page, rows = players_page(season, show, number=request.GET.get("page", "1"))
    context = {"season": season, "project": season.project, "decides": True}
    return render(
        request, "gapgame/players.html", context | {"page": page, "rows": rows, "show": show, "shows": PlayersShown}
    )


@require_POST
def player_decide(request: HttpRequest, slug: str, season_slug: str, player_id: int) -> HttpResponse:
    season = season_for(request.user, slug, season_slug, Role.MANAGER)
    player = get_object_or_404(Player, pk=player_id, season=season)
    asked = request.POST.get("status", "")
    if asked in DECISIONS:
        player = services.decide(
            player_id=player.pk, season=season, status=PlayerStatus(asked), by=user_of(request), now=timezone.now()
        )
        messages.success(request, SAID[PlayerStatus(player.status)] % {"player": player.nickname})
    else:
        messages.error(request, _("Choose one of the buttons."))
    return redirect(f"{_list_of(season)}?show={_show(request.POST.get('show', ''))}")


@require_safe
def skip_list(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    season = season_for(request.user, slug, season_slug)
    page, rows = skips_page(season, number=request.GET.get("page", "1"))
    context = {"season": season, "project": season.project, "page": page, "rows": rows}
    context["decides"] = has_role(request.user, season.project, Role.MANAGER)
    return render(request, "gapgame/skips.html", context)


def _show(asked: str) -> PlayersShown:
    return PlayersShown(asked) if asked in PlayersShown.values else PlayersShown.ALL


def _list_of(season: Season) -> str:
    return reverse("gapgame:player-list", args=[season.project.slug, season.slug])
