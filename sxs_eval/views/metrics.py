"""How well automatic metrics predict human judgements."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.people.models import Project
from core.people.permissions import READERS, project_for
from core.people.requests import as_download
from research.selection.pages.image_filters import AskedImages, asked_images, figures_over
from sxs_eval.formats.metric_gains import MetricsLayout, as_csv, as_json, file_name
from sxs_eval.pages.metrics import metrics_page
from sxs_eval.selectors.metrics import EvaluationTable, UnknownReferencesError, evaluations_of
from sxs_eval.views.exports import layout_of


@require_safe
def metrics_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    flip = request.GET.get("flip") != "no"
    images, evaluations = _evaluations(request, project)
    context = {
        "project": project,
        "page": metrics_page(evaluations, metric=request.GET.get("metric", ""), flip=flip),
        "layouts": MetricsLayout,
        "images": images,
    }
    return render(request, "sxs_eval/metrics.html", context, status=images.status)


@require_safe
def metrics_export(request: HttpRequest, slug: str, layout: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    wanted = layout_of(MetricsLayout, layout)
    images, evaluations = _evaluations(request, project)
    if images.error:
        messages.error(request, images.error)
        return redirect("sxs_eval:metrics-show", slug)
    content = as_csv(evaluations) if wanted is MetricsLayout.CSV else as_json(evaluations)
    response = HttpResponse(content, content_type=wanted.content_type)
    return as_download(response, file_name(project, wanted, timezone.now()))


def _evaluations(request: HttpRequest, project: Project) -> tuple[AskedImages, EvaluationTable]:
    name = request.GET.get("references", "")
    try:
        images = asked_images(request.GET, project, collections=project.comparisons.values("collection"))
        return figures_over(images, lambda filter: evaluations_of(project, filter, references=name))
    except UnknownReferencesError as error:
        message = _("No comparison has models that are scored against references called “%(name)s”. Choose others.")
        raise Http404(message % {"name": name}) from error
