"""Where players begin: seasons, taking part, past turns, the rules, and the leaderboard."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.people.requests import user_of
from gapgame.permissions import player_for, season_to_play, seasons_open_to
from gapgame.rules.nicknames import NicknameError
from gapgame.rules.scripted import MIN_PAUSE, TurnScriptRule
from gapgame.selectors.leaderboard import leaderboard_page, winners_of
from gapgame.selectors.past import past_turns
from gapgame.selectors.public import listed_seasons, season_page
from gapgame.services import players as services
from gapgame.tasks import ask_for_closing

TURNS_PER_PAGE = 20


@require_safe
def game_home(request: HttpRequest) -> HttpResponse:
    seasons = listed_seasons(seasons_open_to(user_of(request)), user_of(request), timezone.now())
    return render(request, "gapgame/home.html", {"seasons": seasons})


@require_safe
@login_not_required
def season_show(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a season, also to visitors who are not signed in if it is open to everybody."""
    season = season_to_play(request.user, slug)
    ask_for_closing(season)
    page = season_page(season, request.user, timezone.now())
    return render(request, "gapgame/season.html", {"page": page, "winners": winners_of(season)})


@require_POST
def season_join(request: HttpRequest, slug: str) -> HttpResponse:
    season = season_to_play(request.user, slug)
    try:
        services.join_season(
            season=season,
            user=user_of(request),
            nickname=request.POST.get("nickname", ""),
            is_on_leaderboard="is_on_leaderboard" in request.POST,
            now=timezone.now(),
        )
    except (services.JoinError, NicknameError) as refused:
        messages.error(request, str(refused))
    return redirect("gapgame:season-show", slug)


def player_edit(request: HttpRequest, slug: str) -> HttpResponse:
    player = player_for(user_of(request), slug)
    if request.method != "POST":
        return render(request, "gapgame/player.html", {"player": player})
    nickname, is_on_leaderboard = request.POST.get("nickname", ""), "is_on_leaderboard" in request.POST
    try:
        services.change_player(player=player, nickname=nickname, is_on_leaderboard=is_on_leaderboard)
    except (services.JoinError, NicknameError) as refused:
        messages.error(request, str(refused))
        return render(request, "gapgame/player.html", {"player": player}, status=422)
    messages.success(request, _("Saved."))
    return redirect("gapgame:season-show", slug)


@require_safe
def turn_list(request: HttpRequest, slug: str) -> HttpResponse:
    """List the player's own finished turns, with the words."""
    player = player_for(user_of(request), slug)
    show, now = request.GET.get("show", ""), timezone.now()
    page, turns = past_turns(player, show, request.GET.get("page"), per_page=TURNS_PER_PAGE, now=now)
    return render(request, "gapgame/turns.html", {"player": player, "page": page, "turns": turns, "show": show})


@require_safe
@login_not_required
def leaderboard_show(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the leaderboard, once the season is closed."""
    season = season_to_play(request.user, slug)
    if season.closed_at is None:
        raise Http404(_("The leaderboard is published when the season has ended."))
    page = leaderboard_page(season, request.user, request.GET.get("page"))
    return render(request, "gapgame/leaderboard.html", {"season": season, "page": page, "winners": winners_of(season)})


@require_safe
@login_not_required
def rules_show(request: HttpRequest, slug: str) -> HttpResponse:
    season = season_to_play(request.user, slug)
    context = {"season": season, "scripted": TurnScriptRule.choices, "pause_s": MIN_PAUSE.total_seconds()}
    return render(request, "gapgame/rules.html", context)
