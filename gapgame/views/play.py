"""The players' pages: seasons, sentences with three guesses each and their images, results, the leaderboard."""

from __future__ import annotations

from datetime import timedelta
from random import Random, SystemRandom
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.images.services.file_storage import read_size
from core.people.requests import is_htmx, keep_typed, number_in, take_typed, user_of
from gapgame.models import SeasonLanguage, SkipReason, Turn, TurnOutcome
from gapgame.permissions import player_for, season_to_play, seasons_open_to, turn_for, turn_shown_to
from gapgame.rules.play import MAX_GUESS_CHARACTERS, MIN_PAUSE, TurnScriptRule
from gapgame.selectors.outlooks import add_languages
from gapgame.selectors.play import image_at, score_of, served_size, turn_page
from gapgame.selectors.public import leaderboard_page, listed_seasons, past_turns, season_page, winners_of
from gapgame.services import players as services
from gapgame.services import playing
from gapgame.services.players import NicknameError
from gapgame.tasks import ask_for_closing

# Draws must not be predictable from earlier ones.
RNG: Random = SystemRandom()
RETRY_AFTER_S = 5
TURNS_PER_PAGE = 20
MAX_SHOWN_MS = 10**9
"""Eleven days: no page stays open for longer."""


@require_POST
def batch_take(request: HttpRequest, slug: str) -> HttpResponse:
    player = player_for(user_of(request), slug)
    language = request.POST.get("language", "").replace("\0", "")
    get_object_or_404(SeasonLanguage, season=player.season, language=language)
    try:
        playing.take_batch(player_id=player.pk, user=user_of(request), language=language, now=timezone.now(), rng=RNG)
    except playing.NoSentencesLeftError:
        messages.info(request, _("You have seen every sentence in this language. Well done!"))
        return redirect("gapgame:season-show", slug)
    except playing.UnfinishedBatchError:
        messages.info(request, _("Here is the batch that you started."))
    except playing.NotPlayingError:
        return _not_playing(request, slug)
    return _next(request, slug)


@require_POST
def turn_open(request: HttpRequest, slug: str) -> HttpResponse:
    return _next(request, slug)


@require_POST
def turn_fetch(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the page's script the next sentence, to show when it is wanted; nothing while there is none."""
    player_id = player_for(user_of(request), slug).pk
    if not is_htmx(request):
        return _to_season(request, slug)
    try:
        turn = playing.fetch_turn(player_id=player_id, user=user_of(request), now=timezone.now())
    except playing.NotPlayingError:
        turn = None
    return _show(request, turn) if turn else HttpResponse(status=204)


@require_safe
def turn_show(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    return _show(request, turn_for(user_of(request), turn_id))


@require_POST
def guess_make(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Take a guess; a form is redirected to the turn, the page's script gets the turn in the same response.

    A form that reports an image only keeps the guess.
    """
    if "report" in request.POST:
        if guess := request.POST.get("guess", "")[:MAX_GUESS_CHARACTERS]:
            keep_typed(request, reverse("gapgame:turn-show", args=[turn_id]), text=guess)
        return redirect("conversation:report-send", "turns", turn_id, 1)
    number = request.POST.get("number", "")
    try:
        turn = playing.make_guess(
            turn_id=turn_id,
            user=user_of(request),
            number=int(number) if number.isdecimal() and len(number) == 1 else 0,
            guess=request.POST.get("guess", ""),
            now=timezone.now(),
        )
    except Turn.DoesNotExist as error:
        raise Http404 from error
    except playing.PlayError as refused:
        return _refused(request, turn_id, refused)
    return _show(request, turn) if is_htmx(request) else redirect("gapgame:turn-show", turn_id)


@require_POST
def turn_skip(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    reason = request.POST.get("reason", "")
    turn = turn_for(user_of(request), turn_id)
    if reason not in SkipReason.values:
        messages.error(request, _("Choose a reason for skipping the sentence."))
        return _changed(request, turn_id)
    note = request.POST.get("note", "")
    try:
        playing.skip(turn_id=turn_id, user=user_of(request), reason=SkipReason(reason), note=note, now=timezone.now())
    except playing.PlayError as refused:
        return _refused(request, turn_id, refused)
    messages.success(request, _("Skipped. Thank you! The project's managers can see your reason."))
    return _next(request, turn.player.season.slug)


def _next(request: HttpRequest, slug: str) -> HttpResponse:
    """Open the next sentence and show it, unless the page shows it already, as it was fetched ahead."""
    player_id = player_for(user_of(request), slug).pk
    shown, shown_for = _shown(request.POST)
    try:
        turn = playing.open_turn(
            player_id=player_id, user=user_of(request), now=timezone.now(), shown=shown, shown_for=shown_for
        )
    except playing.NotPlayingError:
        return _not_playing(request, slug)
    if turn is None:
        return _to_season(request, slug)
    if turn.pk == shown and not turn.attempts_made:
        return HttpResponse(status=204)
    return _show(request, turn) if is_htmx(request) else redirect("gapgame:turn-show", turn.pk)


def _shown(sent: QueryDict) -> tuple[UUID | None, timedelta]:
    """Return the turn that the page shows already, and for how long it says it has."""
    try:
        shown = UUID(sent.get("shown", ""))
    except ValueError:
        return None, timedelta(0)
    return shown, timedelta(milliseconds=min(number_in(sent, "shown_ms") or 0, MAX_SHOWN_MS))


def _changed(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    if not is_htmx(request):
        return redirect("gapgame:turn-show", turn_id)
    return _show(request, turn_for(user_of(request), turn_id))


def _show(request: HttpRequest, turn: Turn, status: int = 200) -> HttpResponse:
    """Show the turn as it is now, keeping a refused guess so that it can be corrected."""
    context = {
        "page": turn_page(turn, now=timezone.now()),
        "score": score_of(turn.player, turn),
        "typed": request.POST.get("guess", "") if status in (422, 429) else take_typed(request).get("text", ""),
    }
    template = "gapgame/_turn.html" if is_htmx(request) else "gapgame/turn.html"
    return render(request, template, context, status=status)


def _refused(request: HttpRequest, turn_id: UUID, refused: playing.PlayError) -> HttpResponse:
    """Show why, with the turn as it is now; nothing was changed."""
    turn = turn_for(user_of(request), turn_id)
    match refused:
        case playing.NotPlayingError():
            # The turn itself says that the cut-off has come.
            is_over = turn.player.season.ends_at <= timezone.now()
            status, text = 410, "" if is_over else _("The season is not open, or you no longer take part in it.")
        case playing.GuessTooSoonError():
            status, text = 429, _("That was too quick: wait a second before you guess. It did not cost an attempt.")
        case playing.StaleTurnError():
            over = turn.outcome != TurnOutcome.OPEN
            status, text = (
                409,
                _("This turn is over.")
                if over
                else _("You have already made this guess. Here is the turn as it is now."),
            )
        case _:
            status, text = 422, _("Type a word that you have not tried in this turn. It did not cost an attempt.")
    if text:
        messages.warning(request, text)
    if status in (409, 410) and not is_htmx(request):
        return redirect("gapgame:turn-show", turn_id)
    return _show(request, turn, status)


def _not_playing(request: HttpRequest, slug: str) -> HttpResponse:
    messages.info(request, _("The season is not open, or you no longer take part in it."))
    return _to_season(request, slug)


def _to_season(request: HttpRequest, slug: str) -> HttpResponse:
    response = redirect("gapgame:season-show", slug)
    return HttpResponse(headers={"HX-Redirect": response["Location"]}) if is_htmx(request) else response


@require_safe
def image_show(request: HttpRequest, turn_id: UUID, signature: str) -> HttpResponse:
    """Serve an image of the user's own turn; unknown or expired addresses give 404."""
    image = image_at(turn_shown_to(user_of(request), turn_id), signature, timezone.now())
    if image is None:
        raise Http404
    content = read_size(image.public_id, served_size(image))
    if content is None:
        return HttpResponse(status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
    response = HttpResponse(content, content_type="image/webp")
    response["Cache-Control"] = "private, max-age=3600, immutable"
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
def game_home(request: HttpRequest) -> HttpResponse:
    user, now = user_of(request), timezone.now()
    seasons = listed_seasons(seasons_open_to(user), user, now)
    add_languages([season for season in seasons if now < season.ends_at], user)
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
