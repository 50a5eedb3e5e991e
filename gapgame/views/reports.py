"""Results for managers and researchers: the report on a season, and its turns as a file once it is closed."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from core.people.models import Role
from core.people.permissions import has_role
from core.people.requests import as_download, user_of
from core.people.services import audit_log
from gapgame.formats.turn_export import CONTENT_TYPE, SeasonNotClosedError, export_turns, file_name
from gapgame.pages.report import report_page
from gapgame.permissions import season_for
from gapgame.rules.turns import TurnRule
from gapgame.selectors.report import groups_of, report_on

GROUP_LABELS = {"word": _("Word"), "image": _("Image"), "player": _("Player"), "language": _("Language")}


@require_safe
def game_report(request: HttpRequest, slug: str, season_slug: str) -> HttpResponse:
    season = season_for(request.user, slug, season_slug)
    # Browsers do not send unchecked boxes; `asked` tells a form without checked boxes from a page without a filter.
    leave = set(request.GET.getlist("leave")) if "asked" in request.GET else set(TurnRule)
    groups = groups_of(season)
    by = request.GET.get("by", "")
    by = by if by in groups else "language"
    report = report_on(season, keep=[str(rule) for rule in TurnRule if rule not in leave], by=by)
    context = {"season": season, "project": season.project, "by": by, "by_label": GROUP_LABELS[by]}
    context["decides"] = has_role(request.user, season.project, Role.MANAGER)
    context["page"] = report_page(report, by=by, by_label=str(GROUP_LABELS[by]), number=request.GET.get("page", "1"))
    context["groups"] = [(name, GROUP_LABELS[name]) for name in groups]
    return render(request, "gapgame/report.html", context)


@require_safe
def turns_export(request: HttpRequest, slug: str, season_slug: str) -> HttpResponseBase:
    season = season_for(request.user, slug, season_slug)
    try:
        pieces = export_turns(season)
    except SeasonNotClosedError as refused:
        messages.error(request, str(refused))
        return redirect("gapgame:game-report", slug, season_slug)
    by, now = user_of(request), timezone.now()
    if request.method == "GET":
        audit_log.record(project=season.project, action="turns.exported", about=season.slug, by=by, now=now)
    return as_download(StreamingHttpResponse(pieces, content_type=CONTENT_TYPE), file_name(season, now))
