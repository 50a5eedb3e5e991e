"""Pages of managers and researchers to set up and follow seasons."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people.models import Project, Role
from core.people.permissions import READERS, has_role, project_for
from core.people.requests import user_of
from gapgame.forms.seasons import ItemSetForm, SeasonForm, TextsForm
from gapgame.models import ItemSet, Season
from gapgame.permissions import season_for
from gapgame.rules.clock import time_zones
from gapgame.selectors import overview, setup
from gapgame.services import seasons as services


@require_safe
def season_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    context: dict[str, object] = {"project": project, "seasons": overview.seasons_of(project)}
    context["has_items"] = setup.item_sets_of(project).exists()
    context["decides"] = has_role(request.user, project, Role.MANAGER)
    return render(request, "gapgame/seasons.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def season_create(request: HttpRequest, slug: str) -> HttpResponse:
    """Set up a season in two steps at one address: the set of items, then the rest, which depends on it."""
    project = project_for(request.user, slug, *READERS)
    sets = setup.item_sets_of(project)
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
    try:
        services.delete_season(season=season, by=user_of(request), now=timezone.now())
    except services.SeasonError as refused:
        messages.error(request, str(refused))
        return redirect("gapgame:season-edit", slug, season_slug)
    messages.success(request, _("Season “%(season)s” deleted.") % {"season": season.name})
    return redirect("gapgame:season-list", slug)


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
