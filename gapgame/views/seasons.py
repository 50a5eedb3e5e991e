"""Pages of managers and researchers to set up and follow seasons, and their players, skips, results and turns."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people.models import Project, Role
from core.people.permissions import READERS, has_role, project_for
from core.people.requests import RefusalsShown, user_of
from gapgame.forms.seasons import ItemSetForm, SeasonForm, TextsForm
from gapgame.models import ItemSet, Player, PlayerStatus, Season
from gapgame.pages.report import report_page
from gapgame.permissions import season_for
from gapgame.rules.clock import time_zones
from gapgame.rules.turns import TurnRule
from gapgame.selectors import overview, setup
from gapgame.selectors.overview import PlayersShown, players_page, skips_page
from gapgame.selectors.report import groups_of, report_on
from gapgame.services import seasons as services
from gapgame.services.ranking import DECISIONS, decide

GROUP_LABELS = {
    "word": gettext_lazy("Word"),
    "image": gettext_lazy("Image"),
    "player": gettext_lazy("Player"),
    "language": gettext_lazy("Language"),
}
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
def season_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    context: dict[str, object] = {"project": project, "seasons": overview.seasons_of(project)}
    context["has_items"] = setup.playable_sets_of(project).exists()
    context["decides"] = has_role(request.user, project, Role.MANAGER)
    return render(request, "gapgame/seasons.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def season_create(request: HttpRequest, slug: str) -> HttpResponse:
    """Set up a season in two steps at one address: the set of items, then the rest, which depends on it."""
    project = project_for(request.user, slug, *READERS)
    sets = setup.playable_sets_of(project)
    chosen = ItemSetForm(request.GET if "items" in request.GET else None, item_sets=sets)
    if not chosen.is_valid():
        return render(request, "gapgame/season_items.html", {"project": project, "form": chosen, "sets": sets})
    return _create(request, project, chosen.cleaned_data["items"])


@require_safe
def season_manage(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    season = season_for(request.user, slug, season_slug)
    return render(request, "gapgame/season_manage.html", _head(request, season) | _progress(season))


@require_safe
def season_progress(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    """Render the part of the page that refreshes itself."""
    season = season_for(request.user, slug, season_slug)
    return render(request, "gapgame/_season_progress.html", _head(request, season) | _progress(season))


@require_http_methods(["GET", "HEAD", "POST"])
def season_edit(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    season = season_for(request.user, slug, season_slug)
    if services.has_begun(season, timezone.now()) and "starts_at" not in request.POST:
        return _edit(request, season, TextsForm(request.POST or None, season=season))
    chosen = setup.vectors_chosen(season.pk)
    playable = setup.playable_of(season.item_set)
    form = SeasonForm(request.POST or None, playable=playable, season=season, chosen=chosen)
    return _edit(request, season, form)


@require_POST
def season_delete(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    season = season_for(request.user, slug, season_slug, Role.MANAGER)
    with RefusalsShown(request, services.SeasonError):
        services.delete_season(season=season, by=user_of(request), now=timezone.now())
        messages.success(request, _("Season “%(season)s” deleted.") % {"season": season.name})
        return redirect("gapgame:season-list", slug)
    return redirect("gapgame:season-edit", slug, season_slug)


def _create(request: HttpRequest, project: Project, item_set: ItemSet) -> HttpResponse:
    form = SeasonForm(request.POST or None, playable=setup.playable_of(item_set))
    season = None
    if form.is_valid():
        try:
            season = services.create_season(
                project=project,
                item_set=item_set,
                texts=form.texts(),
                terms=form.terms(),
                by=user_of(request),
                now=timezone.now(),
            )
        except services.SeasonError as refused:
            form.add_error(_field_of(refused), str(refused))
    if season is None:
        context = {"project": project, "item_set": item_set, "form": form, "time_zones": time_zones()}
        return render(request, "gapgame/season_create.html", context, status=422 if form.is_bound else 200)
    messages.success(request, _("Season created. You can change everything under Settings until it starts."))
    _warn(request, season)
    return redirect("gapgame:season-manage", project.slug, season.slug)


def _edit(request: HttpRequest, season: Season, form: TextsForm) -> HttpResponse:
    if form.is_valid():
        terms = form.terms() if isinstance(form, SeasonForm) else None
        try:
            services.change_season(
                season=season, texts=form.texts(), terms=terms, by=user_of(request), now=timezone.now()
            )
        except services.SeasonStartedError as begun:
            form = TextsForm(request.POST, season=season)
            form.add_error(None, str(begun))
        except services.SeasonError as refused:
            form.add_error(_field_of(refused), str(refused))
        else:
            messages.success(request, _("Settings saved."))
            _warn(request, season)
            return redirect("gapgame:season-edit", season.project.slug, season.slug)
    context = _head(request, season) | {"form": form, "time_zones": time_zones()}
    context["has_begun"] = not isinstance(form, SeasonForm)
    context["languages"] = season.languages.select_related("language", "vectors")
    return render(request, "gapgame/season_edit.html", context, status=422 if form.is_bound else 200)


def _field_of(refused: services.SeasonError) -> str | None:
    return "name" if isinstance(refused, services.SeasonNameTakenError) else None


def _warn(request: HttpRequest, season: Season) -> None:
    """Warn about settings that will disappoint players, although the season is possible."""
    chosen = setup.vectors_chosen(season.pk)
    for row in setup.playable_of(season.item_set):
        if row.waiting and row.language.pk in chosen:
            text = _("%(language)s: %(number)d of %(items)d sentences in use have no images ready.")
            about = {"language": row.language.name, "number": row.waiting, "items": row.items}
            messages.warning(request, text % about)
    for missing in setup.unscored_of(season.item_set, chosen):
        text = _(
            "%(language)s: %(number)d answers have no vector in “%(vectors)s”, so only the exact word scores: "
            "%(words)s."
        )
        about = {"number": missing.number, "vectors": missing.vectors.name, "words": missing.words}
        messages.warning(request, missing.why or text % (about | {"language": missing.language.name}))


def _head(request: HttpRequest, season: Season) -> dict[str, object]:
    return {
        "season": season,
        "project": season.project,
        "decides": has_role(request.user, season.project, Role.MANAGER),
    }


def _progress(season: Season) -> dict[str, object]:
    return {"progress": overview.progress_of(season, timezone.now()), "ended": overview.ENDED}


@require_safe
def game_report(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    season = season_for(request.user, slug, season_slug)
    # Browsers do not send unchecked boxes; `asked` tells a form without checked boxes from a page without a filter.
    leave = set(request.GET.getlist("leave")) if "asked" in request.GET else set(TurnRule)
    groups = groups_of(season)
    by = request.GET.get("by", "")
    by = by if by in groups else "language"
    report = report_on(season, keep=[str(rule) for rule in TurnRule if rule not in leave], by=by)
    context = _head(request, season) | {"by": by, "by_label": GROUP_LABELS[by]}
    context["page"] = report_page(report, by=by, by_label=str(GROUP_LABELS[by]), number=request.GET.get("page", "1"))
    context["groups"] = [(name, GROUP_LABELS[name]) for name in groups]
    return render(request, "gapgame/report.html", context)


@require_safe
def player_list(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    season = season_for(request.user, slug, season_slug, Role.MANAGER)
    show = _show(request.GET.get("show", ""))
    page, rows = players_page(season, show, number=request.GET.get("page", "1"))
    context = _head(request, season) | {"page": page, "rows": rows, "show": show, "shows": PlayersShown}
    return render(request, "gapgame/players.html", context)


@require_POST
def player_decide(request: HttpRequest, slug: str, season_slug: str, player_id: int) -> HttpResponse:
    season = season_for(request.user, slug, season_slug, Role.MANAGER)
    player = get_object_or_404(Player, pk=player_id, season=season)
    asked = request.POST.get("status", "")
    if asked in DECISIONS:
        player = decide(
            player_id=player.pk, season=season, status=PlayerStatus(asked), by=user_of(request), now=timezone.now()
        )
        messages.success(request, SAID[PlayerStatus(player.status)] % {"player": player.nickname})
    else:
        messages.error(request, _("Choose one of the buttons."))
    players = reverse("gapgame:player-list", args=[slug, season_slug])
    return redirect(f"{players}?show={_show(request.POST.get('show', ''))}")


@require_safe
def skip_list(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    season = season_for(request.user, slug, season_slug)
    page, rows = skips_page(season, number=request.GET.get("page", "1"))
    return render(request, "gapgame/skips.html", _head(request, season) | {"page": page, "rows": rows})


def _show(asked: str) -> PlayersShown:
    return PlayersShown(asked) if asked in PlayersShown.values else PlayersShown.ALL
