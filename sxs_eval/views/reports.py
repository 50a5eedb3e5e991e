"""Results for managers and researchers: reports, pairs, all comparisons together, metrics, and downloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.people.models import Project, Role
from core.people.permissions import READERS, has_role, project_for
from core.people.requests import as_download, user_of
from crosslens_metrics.scales import SCALES
from research.selection.pages.image_filters import AskedImages, asked_images, figures_over
from sxs_eval.formats.figure_tables import TableLayout, table, table_name
from sxs_eval.formats.metric_gains import MetricsLayout, as_csv, as_json, metrics_file_name
from sxs_eval.forms.results import PointsForm, WidthForm
from sxs_eval.models import Comparison
from sxs_eval.pages.across import across_page
from sxs_eval.pages.metrics import metrics_page
from sxs_eval.pages.report import report_page
from sxs_eval.permissions import comparison_for, has_assigned_images
from sxs_eval.selectors.across import (
    EvaluationTable,
    OverallResults,
    UnknownReferencesError,
    evaluations_of,
    results_of,
)
from sxs_eval.selectors.evidence import evidence_of
from sxs_eval.selectors.overview import progress_of
from sxs_eval.selectors.pairs import PairsShown, pairs_page
from sxs_eval.selectors.results import complete_images_of, level_outcomes, looks_before, rater_rows, report_of
from sxs_eval.services.comparisons import record_looks

L = TypeVar("L", MetricsLayout, TableLayout)


@require_safe
def comparison_show(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id)
    images, evidence = figures_over(
        asked_images(request.GET, comparison.project, collections=[comparison.collection_id]),
        lambda filter: evidence_of([comparison], filter)[comparison.pk],
    )
    report = report_of(comparison, evidence)
    _record_looks(request, [comparison], images, {comparison.pk: report.outcome.images.denominator})
    levels = level_outcomes(comparison, evidence)
    raters = rater_rows(comparison, report, evidence)
    page = report_page(
        report,
        evidence,
        raters,
        scale=SCALES[comparison.scale],
        levels=levels,
        looks=looks_before(comparison, evidence.pairs),
        comparison=comparison,
    )
    context = _head(request, comparison) | {"page": page, "pairs": evidence.pairs}
    return render(request, "sxs_eval/report.html", context | {"images": images}, status=images.status)


@require_safe
def comparison_progress(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    """Render the part of the page that refreshes itself."""
    comparison = comparison_for(request.user, slug, comparison_id)
    return render(request, "sxs_eval/_report_progress.html", _head(request, comparison))


@require_safe
def pair_list(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id)
    if has_assigned_images(user_of(request), [comparison]):
        messages.error(request, captions_are_closed())
        return redirect("sxs_eval:comparison-show", slug, comparison_id)
    asked = request.GET.get("show", "")
    show = PairsShown(asked) if asked in PairsShown.values else PairsShown.ALL
    page, pairs = pairs_page(comparison, show, number=request.GET.get("page", "1"))
    context = _head(request, comparison) | {"show": show, "shows": PairsShown, "page": page, "pairs": pairs}
    return render(request, "sxs_eval/pairs.html", context)


@require_safe
def results_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    width, language = WidthForm(request.GET or None), request.GET.get("language", "")
    images, results = figures_over(
        asked_images(request.GET, project, collections=project.comparisons.values("collection")),
        lambda filter: results_of(project, width_points=2 * width.half_width, language=language, filter=filter),
    )
    _record_results(request, results, images)
    context = {
        "project": project,
        "form": width,
        "language": language,
        "languages": [(one.tag, one.name) for one in results.languages],
        "half_width": width.half_width,
        "page": across_page(results, half_width=width.half_width),
        "images": images,
        "table_layouts": TableLayout,
        "left_out": Comparison.objects.left_out().filter(project=project).count(),
    }
    return render(request, "sxs_eval/across.html", context, status=images.status)


def _record_results(request: HttpRequest, results: OverallResults, images: AskedImages) -> None:
    comparisons = [row.comparison for row in results.results if row.comparison]
    _record_looks(
        request, comparisons, images, {row.comparison.pk: row.images for row in results.results if row.comparison}
    )


def _record_looks(
    request: HttpRequest, comparisons: list[Comparison], images: AskedImages, complete: Mapping[int, int] | None
) -> None:
    """Record that results were seen, so that a report can say how often they were looked at.

    `complete` images are counted here where the page shows some of them, or does not count them.
    """
    if request.method == "GET":
        is_known = complete is not None and images.filter.is_all
        record_looks(comparisons, complete if complete and is_known else complete_images_of(comparisons))


def captions_are_closed() -> str:
    return _(
        "You have a batch with images of this project, and this page shows what models wrote about them. "
        "Submit that batch first, or ask somebody else."
    )


def _head(request: HttpRequest, comparison: Comparison) -> dict[str, object]:
    return {
        "comparison": comparison,
        "project": comparison.project,
        "progress": progress_of([comparison], now=timezone.now())[0],
        "decides": has_role(request.user, comparison.project, Role.MANAGER),
    }


@require_safe
def tables_export(request: HttpRequest, slug: str, layout: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    wanted, until = layout_of(TableLayout, layout), timezone.now()
    images, results = figures_over(
        asked_images(request.GET, project), lambda filter: results_of(project, filter=filter)
    )
    if images.error:
        messages.error(request, images.error)
        return redirect("sxs_eval:results-show", slug)
    _record_results(request, results, images)
    response = HttpResponse(table(results, wanted), content_type=wanted.content_type)
    return as_download(response, table_name(project, wanted, until, images.filter))


def layout_of(layouts: type[L], layout: str) -> L:
    if layout not in layouts.values:
        raise Http404(
            _("There is no such format. Available formats: %(known)s.") % {"known": ", ".join(layouts.values)}
        )
    return layouts(layout)


@require_safe
def metrics_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    points = PointsForm.asked(request.GET)
    images, evaluations = _evaluations(request, project)
    context = {
        "project": project,
        "page": metrics_page(evaluations, metric=request.GET.get("metric", ""), rules=points.rules),
        "points": points,
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
    rules = PointsForm.asked(request.GET).rules
    content = as_csv(evaluations) if wanted is MetricsLayout.CSV else as_json(evaluations, rules)
    response = HttpResponse(content, content_type=wanted.content_type)
    return as_download(response, metrics_file_name(project, wanted, timezone.now()))


def _evaluations(request: HttpRequest, project: Project) -> tuple[AskedImages, EvaluationTable]:
    name = request.GET.get("references", "")
    try:
        images = asked_images(request.GET, project, collections=project.comparisons.values("collection"))
        return figures_over(images, lambda filter: evaluations_of(project, filter, references=name))
    except UnknownReferencesError as error:
        message = _("No comparison has models that are scored against references called “%(name)s”. Choose others.")
        raise Http404(message % {"name": name}) from error
