"""Progress, plots and statistics of a project as of now, on pages that refresh themselves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.formats.captions import CaptionLayout
from annotation.pages.annotators import annotators_page, rounds_table
from annotation.pages.control_room import asked_columns, room_page
from annotation.pages.plots import plots_of_one, plots_page
from annotation.pages.progress import seen_of
from annotation.rules.bulk_actions import OFFERED
from annotation.selectors import annotators as selectors
from annotation.selectors.image_progress import progress_over
from annotation.selectors.overview import project_progress as progress_of
from annotation.selectors.reassignment import open_batches
from annotation.selectors.series import languages_of, round_series
from annotation.selectors.statistics import filtered_statistics, live_statistics
from annotation.views.shared import over_images
from core.people.models import Project, Role, User
from core.people.permissions import READERS, project_for
from core.people.requests import keep_choice, kept_choice

COLUMNS = "overview_columns"
ProjectView = Callable[[HttpRequest, str], HttpResponse]
NOTHING_NEW = 204
"""The status that makes htmx leave the page as it is."""


@require_safe
def project_show(request: HttpRequest, slug: str) -> HttpResponse:
    columns = asked_columns(request.GET)
    if columns is not None:
        return _keep_columns(request, slug, columns)
    context = _progress(request, slug) | {"layouts": CaptionLayout, "actions": OFFERED}
    project, rounds = context["project"], [line.row.round for line in context["page"].lines]
    images, rows = over_images(
        request, project, lambda only: [] if only.is_all else progress_over(rounds, only, project=project)
    )
    context |= {"images": images, "over": rows or []}
    return render(request, "annotation/manage_project.html", context, status=images.status)


@require_safe
def project_progress(request: HttpRequest, slug: str) -> HttpResponse:
    """Render the part of the page that refreshes itself."""
    context = _progress(request, slug)
    return _unless_seen(request, "annotation/_room.html", context, seen=context["page"].seen)


@require_safe
def annotator_show(request: HttpRequest, slug: str, person_id: int) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    person = get_object_or_404(User, pk=person_id)
    if not selectors.is_of_project(person, project):
        raise Http404(_("There is no such annotator in this project."))
    now = timezone.now()
    rows = selectors.rounds_of_one(project, person, now=now)
    context = {
        "project": project,
        "person": person,
        "table": rounds_table(rows, slug, person),
        "figures": plots_of_one(rows, today=now.astimezone(UTC).date()),
        "batches": open_batches(project, person, now=now),
        "next": request.path,
    }
    return render(request, "annotation/annotator.html", context)


def _unless_seen(request: HttpRequest, template: str, context: dict[str, Any], *, seen: str) -> HttpResponse:
    """Return an empty answer if the page already shows everything."""
    if request.GET.get("seen") == seen:
        return HttpResponse(status=NOTHING_NEW)
    return render(request, template, context)


def _progress(request: HttpRequest, slug: str) -> dict[str, Any]:
    project: Project = project_for(request.user, slug, *READERS)
    progress = progress_of(project, now=timezone.now())
    columns = kept_choice(request, COLUMNS)
    page = room_page(progress, request.GET, kept_columns=columns, now=timezone.now())
    return {"project": project, "progress": progress, "page": page}


def _keep_columns(request: HttpRequest, slug: str, columns: str) -> HttpResponse:
    """Keep the choice of columns in this browser, and show the page without it in its address."""
    kept = request.GET.copy()
    kept.pop("columns")
    query = kept.urlencode()
    response = redirect(f"{reverse('annotation:project-show', args=[slug])}{'?' if query else ''}{query}")
    keep_choice(response, COLUMNS, columns)
    return response


def _annotators(request: HttpRequest, slug: str) -> dict[str, Any]:
    project, now = project_for(request.user, slug, Role.MANAGER), timezone.now()
    page = annotators_page(selectors.annotators(project, now=now), request.GET, slug=slug, now=now)
    return {"project": project, "page": page, "seen": page.seen}


def _plots(request: HttpRequest, slug: str) -> dict[str, Any]:
    project = project_for(request.user, slug, *READERS)
    languages = list(languages_of(project))
    language = next((one for one in languages if one.pk == request.GET.get("language")), None)
    page = plots_page(
        round_series(project, language=language),
        languages=languages,
        language=language,
        query=request.GET,
        today=timezone.now().astimezone(UTC).date(),
    )
    return {"project": project, "page": page, "seen": page.seen}


def _statistics(request: HttpRequest, slug: str) -> dict[str, Any]:
    project, now = project_for(request.user, slug, *READERS), timezone.now()
    images, rows = over_images(
        request,
        project,
        lambda only: live_statistics(project) if only.is_all else filtered_statistics(project, only, now=now),
    )
    return {"project": project, "images": images, "rows": rows or [], "seen": seen_of(rows or [])}


def _refreshed(
    page: str, part: str, context_of: Callable[[HttpRequest, str], dict[str, Any]]
) -> tuple[ProjectView, ProjectView]:
    """Make the view of a page of a project, and that of its part that refreshes itself."""

    @require_safe
    def show(request: HttpRequest, slug: str) -> HttpResponse:
        context = context_of(request, slug)
        images = context.get("images")
        return render(request, page, context, status=images.status if images else 200)

    @require_safe
    def progress(request: HttpRequest, slug: str) -> HttpResponse:
        context = context_of(request, slug)
        return _unless_seen(request, part, context, seen=context["seen"])

    return show, progress


annotator_list, annotator_progress = _refreshed(
    "annotation/annotators.html", "annotation/_annotators.html", _annotators
)
plots_show, plots_progress = _refreshed("annotation/plots.html", "annotation/_plots.html", _plots)
statistics_show, statistics_progress = _refreshed(
    "annotation/statistics.html", "annotation/_statistics.html", _statistics
)
