"""Downloads: judgements, and tables of figures."""

from __future__ import annotations

from typing import TypeVar

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.people.models import Project
from core.people.permissions import READERS, project_for
from core.people.requests import as_download, user_of
from core.people.services import audit_log
from research.selection.pages.image_filters import asked_images, figures_over
from sxs_eval.formats.figure_tables import TableLayout, table, table_name
from sxs_eval.formats.judgement_export import JudgementLayout, export_judgements, file_name
from sxs_eval.formats.metric_gains import MetricsLayout
from sxs_eval.models import Comparison
from sxs_eval.permissions import has_assigned_images
from sxs_eval.selectors.across import results_of
from sxs_eval.views.reports import captions_are_closed

L = TypeVar("L", JudgementLayout, MetricsLayout, TableLayout)


@require_safe
def judgements_export(request: HttpRequest, slug: str, layout: str) -> HttpResponseBase:
    project = project_for(request.user, slug, *READERS)
    wanted, chosen = layout_of(JudgementLayout, layout), _chosen(project, request.GET.get("comparison", ""))
    if has_assigned_images(user_of(request), chosen):
        messages.error(request, captions_are_closed())
        return redirect("sxs_eval:results-show", slug)
    until = timezone.now()
    images, pieces = figures_over(
        asked_images(request.GET, project),
        lambda filter: export_judgements(chosen, wanted, until=until, images=filter),
    )
    if images.error:
        messages.error(request, images.error)
        return redirect("sxs_eval:results-show", slug)
    if request.method == "GET":
        audit_log.record(project=project, action="judgements.exported", about=layout, by=user_of(request), now=until)
    response = StreamingHttpResponse(pieces, content_type=wanted.content_type)
    return as_download(response, file_name(project, chosen, wanted, until, images.filter))


@require_safe
def tables_export(request: HttpRequest, slug: str, layout: str) -> HttpResponseBase:
    project = project_for(request.user, slug, *READERS)
    wanted, until = layout_of(TableLayout, layout), timezone.now()
    images, results = figures_over(
        asked_images(request.GET, project), lambda filter: results_of(project, filter=filter)
    )
    if images.error:
        messages.error(request, images.error)
        return redirect("sxs_eval:results-show", slug)
    response = HttpResponse(table(results, wanted), content_type=wanted.content_type)
    return as_download(response, table_name(project, wanted, until, images.filter))


def layout_of(layouts: type[L], layout: str) -> L:
    if layout not in layouts.values:
        raise Http404(
            _("There is no such format. Available formats: %(known)s.") % {"known": ", ".join(layouts.values)}
        )
    return layouts(layout)


def _chosen(project: Project, comparison: str) -> list[Comparison]:
    """Return the comparison asked for, or all comparisons of the project that count in results."""
    comparisons = Comparison.objects.filter(project=project).select_related("project", "language", "base", "test")
    if not comparison:
        return list(comparisons.in_results().order_by("pk"))
    if not comparison.isascii() or not comparison.isdigit() or len(comparison) > 18:
        raise Http404(_("This project has no such comparison."))
    return [get_object_or_404(comparisons, pk=comparison)]
