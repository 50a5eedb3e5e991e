"""The quality of verified captions: pages and files for managers and researchers. They show no captions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.formats.quality import QualityLayout, fresh_table, write
from annotation.pages import quality as pages
from annotation.selectors.quality import QualityTable, quality_table
from annotation.views.shared import over_images
from core.people.models import Project, Role, User
from core.people.permissions import READERS, has_role, project_for
from core.people.requests import as_download
from core.people.rules.pseudonyms import pseudonym
from tabular.downloads import stamp


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
