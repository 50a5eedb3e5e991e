"""Plots and caption statistics of a project, as of now."""

from __future__ import annotations

from datetime import UTC
from hashlib import sha256
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.pages.plots import plots_page
from annotation.pages.progress import SEEN_DIGITS
from annotation.selectors.live_statistics import filtered_statistics, live_statistics
from annotation.selectors.series import languages_of, round_series
from annotation.views.progress import unless_seen
from core.people.permissions import READERS, project_for
from research.selection.pages.image_filters import asked_images, with_reason
from research.selection.rules.image_filters import ImageFilterError


@require_safe
@login_required
def plots_show(request: HttpRequest, slug: str) -> HttpResponse:
    return render(request, "annotation/plots.html", _plots(request, slug))


@require_safe
@login_required
def plots_progress(request: HttpRequest, slug: str) -> HttpResponse:
    context = _plots(request, slug)
    return unless_seen(request, "annotation/_plots.html", context, seen=context["page"].seen)


@require_safe
@login_required
def statistics_show(request: HttpRequest, slug: str) -> HttpResponse:
    context = _statistics(request, slug)
    return render(request, "annotation/statistics.html", context, status=context["images"].status)


@require_safe
@login_required
def statistics_progress(request: HttpRequest, slug: str) -> HttpResponse:
    context = _statistics(request, slug)
    return unless_seen(request, "annotation/_statistics.html", context, seen=context["seen"])


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
    return {"project": project, "page": page}


def _statistics(request: HttpRequest, slug: str) -> dict[str, Any]:
    project = project_for(request.user, slug, *READERS)
    images = asked_images(request.GET, project, collections=project.rounds.values("collection"))
    try:
        if images.is_all:
            rows = [] if images.error else live_statistics(project)
        else:
            rows = filtered_statistics(project, images.filter, now=timezone.now())
    except ImageFilterError as error:
        images, rows = with_reason(images, error), []
    return {
        "project": project,
        "images": images,
        "rows": rows,
        "seen": sha256(repr(rows).encode()).hexdigest()[:SEEN_DIGITS],
    }
