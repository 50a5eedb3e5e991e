"""The player's pages: one sentence after the other, three guesses each, and their results."""

from __future__ import annotations

from random import Random, SystemRandom
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.people.requests import is_htmx, user_of
from gapgame.models import SeasonLanguage, SkipReason, Turn, TurnOutcome
from gapgame.permissions import player_for, turn_for
from gapgame.selectors.play import score_of, turn_page
from gapgame.services import playing

# Draws must not be predictable from earlier ones.
RNG: Random = SystemRandom()


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


@require_safe
def turn_show(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    return _show(request, turn_for(user_of(request), turn_id))


@require_POST
def guess_make(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Take a guess; a form is redirected to the turn, the page's script gets the turn in the same response."""
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
    player_id = player_for(user_of(request), slug).pk
    try:
        turn = playing.open_turn(player_id=player_id, user=user_of(request), now=timezone.now())
    except playing.NotPlayingError:
        return _not_playing(request, slug)
    if turn is None:
        return _to_season(request, slug)
    return _show(request, turn) if is_htmx(request) else redirect("gapgame:turn-show", turn.pk)


def _changed(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    if not is_htmx(request):
        return redirect("gapgame:turn-show", turn_id)
    return _show(request, turn_for(user_of(request), turn_id))


def _show(request: HttpRequest, turn: Turn, status: int = 200) -> HttpResponse:
    """Show the turn as it is now, keeping a refused guess so that it can be corrected."""
    context = {
        "page": turn_page(turn, now=timezone.now()),
        "score": score_of(turn.player, turn),
        "typed": request.POST.get("guess", "") if status in (422, 429) else "",
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
