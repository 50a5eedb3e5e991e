"""Progress, plots, statistics and quality of a project, on pages that refresh themselves. They show no captions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from functools import cache, partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.formats.quality import QualityLayout, fresh_table, write
from annotation.pages import quality as pages
from annotation.pages.annotators import annotators_page, rounds_table
from annotation.pages.control_room import asked_columns, room_page
from annotation.pages.marks import marks_table
from annotation.pages.plots import plots_of_one, plots_page
from annotation.pages.progress import seen_of
from annotation.rules.bulk_actions import OFFERED
from annotation.selectors import annotators as selectors
from annotation.selectors.annotators import open_batches
from annotation.selectors.image_uses import progress_over
from annotation.selectors.marks import marks_of_person
from annotation.selectors.overview import project_progress as progress_of
from annotation.selectors.quality import QualityTable, quality_table
from annotation.selectors.statistics import filtered_statistics, languages_of, live_statistics, round_series
from annotation.views.shared import over_images
from core.people.models import Project, Role, User
from core.people.permissions import READERS, has_role, project_for
from core.people.requests import as_download, keep_choice, kept_choice
from core.people.rules.pseudonyms import pseudonym
from core.people.selectors.rates import rate_of
from tabular.downloads import stamp

COLUMNS = "overview_columns"
ProjectView = Callable[[HttpRequest, str], HttpResponse]
NOTHING_NEW = 204
"""The status that makes htmx leave the page as it is."""


@require_safe
def project_show(request: HttpRequest, slug: str) -> HttpResponse:
    columns = asked_columns(request.GET)
    if columns is not None:
        return _keep_columns(request, slug, columns)
    context = _progress(request, slug) | {"actions": OFFERED}
    project, rounds = context["project"], [line["row"].round for line in context["page"]["lines"]]
    images, rows = over_images(
        request, project, lambda only: [] if only.is_all else progress_over(rounds, only, project=project)
    )
    context |= {"images": images, "over": rows or []}
    return render(request, "annotation/manage_project.html", context, status=images.status)


@require_safe
def project_progress(request: HttpRequest, slug: str) -> HttpResponse:
    """Render the part of the page that refreshes itself."""
    context = _progress(request, slug)
    return _unless_seen(request, "annotation/_room.html", context, seen=context["page"]["seen"])


@require_safe
def annotator_show(request: HttpRequest, slug: str, person_id: int) -> HttpResponse:
    project, person = _annotator(request, slug, person_id)
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


@require_safe
def annotator_marks(request: HttpRequest, slug: str, person_id: int) -> HttpResponse:
    """Show what was found in the newest captions of a person: a page of its own, as it reads them."""
    project, person = _annotator(request, slug, person_id)
    marks = marks_of_person(project, person)
    context = {"project": project, "person": person, "marks": marks, "table": marks_table(marks, slug)}
    return render(request, "annotation/annotator_marks.html", context)


def _annotator(request: HttpRequest, slug: str, person_id: int) -> tuple[Project, User]:
    project = project_for(request.user, slug, Role.MANAGER)
    person = get_object_or_404(User, pk=person_id)
    if not selectors.is_of_project(person, project):
        raise Http404(_("There is no such annotator in this project."))
    return project, person


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
    return {"project": project, "page": page, "seen": page["seen"]}


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
    return {"project": project, "page": page, "seen": page["seen"]}


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


@require_safe
def quality_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    context = _context(request, project)
    return render(
        request, "annotation/quality.html", context | {"layouts": QualityLayout}, status=context["images"].status
    )


@require_safe
def quality_progress(request: HttpRequest, slug: str) -> HttpResponse:
    """Render the part of the page that refreshes itself."""
    project = project_for(request.user, slug, *READERS)
    return render(request, "annotation/_quality_table.html", _context(request, project))


@require_safe
def quality_round(request: HttpRequest, slug: str, round_id: int) -> HttpResponse:
    """Show one round: captions by level, and each reviewer against the overall level."""
    project = project_for(request.user, slug, *READERS)
    context = _context(request, project)
    row = next((row for row in context["quality"].rows if row.round.pk == round_id), None)
    if row is None and not context["images"].error:
        raise Http404(_("There is no such round in this project."))
    if row is None:
        messages.error(request, context["images"].error)
        return redirect("annotation:quality-round", slug, round_id)
    context |= {
        "row": row,
        "alpha": pages.alpha_of(row),
        "why_no_alpha": pages.why_no_alpha(row),
        "plot": pages.levels_plot(row),
        "levels": pages.level_names(),
        "appendix": list(pages.appendix_of(row)),
        "rate": rate_of(project),
        "confusions": pages.confusions_of(row, name_of=_name_of(request, project)),
    }
    return render(request, "annotation/quality_round.html", context)


@require_safe
def quality_export(request: HttpRequest, slug: str, layout: str) -> HttpResponse:
    """Count for the file itself, so that it includes the latest submissions."""
    project = project_for(request.user, slug, *READERS)
    images, fresh = over_images(request, project, partial(fresh_table, project))
    if fresh is None:
        messages.error(request, images.error)
        return redirect("annotation:quality-show", slug)
    if layout not in QualityLayout.values:
        raise Http404(
            _("There is no such format. Available formats: %(known)s.") % {"known": ", ".join(QualityLayout.values)}
        )
    wanted = QualityLayout(layout)
    lines = write(fresh, wanted, name_of=partial(pseudonym, project))
    name = f"{project.slug}-quality{images.filter.in_file_names()}-{stamp(timezone.now())}.{layout}"
    return as_download(HttpResponse("".join(lines), content_type=wanted.content_type), name)


def _context(request: HttpRequest, project: Project) -> dict[str, Any]:
    """Read the stored figures; those of some images are counted now."""
    images, table = over_images(
        request, project, lambda only: quality_table(project) if only.is_all else fresh_table(project, only)
    )
    table = table or QualityTable([], is_stale=False)
    shown = pages.table_of(table, project, images)
    return {"project": project, "images": images, "quality": table, "table": shown, "levels": pages.levels()}


def _name_of(request: HttpRequest, project: Project) -> Callable[[int], str]:
    """Return user names for managers, and pseudonyms as in files for researchers."""
    if not has_role(request.user, project, Role.MANAGER):
        return partial(pseudonym, project)
    return cache(lambda person: User.objects.values_list("username", flat=True).get(pk=person))
