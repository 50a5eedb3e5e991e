"""Results for managers and researchers: a comparison's report, its pairs, and all comparisons together."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.people.models import Role
from core.people.permissions import READERS, has_role, project_for
from core.people.requests import user_of
from crosslens_metrics.scales import SCALES
from research.selection.pages.image_filters import asked_images, figures_over
from sxs_eval.formats.figure_tables import TableLayout
from sxs_eval.formats.judgement_export import JudgementLayout
from sxs_eval.forms.results import WidthForm
from sxs_eval.models import Comparison
from sxs_eval.pages.across import across_page
from sxs_eval.pages.report import report_page
from sxs_eval.permissions import comparison_for, has_assigned_images
from sxs_eval.selectors.across import results_of
from sxs_eval.selectors.overview import progress_of
from sxs_eval.selectors.pairs import PairsShown, pairs_page
from sxs_eval.selectors.results import evidence_of, level_outcomes, rater_rows, report_of


@require_safe
def comparison_show(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id)
    images, evidence = figures_over(
        asked_images(request.GET, comparison.project, collections=[comparison.collection_id]),
        lambda filter: evidence_of([comparison], filter)[comparison.pk],
    )
    report = report_of(comparison, evidence)
    levels = level_outcomes(comparison, evidence)
    raters = rater_rows(comparison, report, evidence)
    page = report_page(report, evidence, raters, scale=SCALES[comparison.scale], levels=levels)
    context = _head(request, comparison) | {"page": page, "pairs": evidence.pairs, "layouts": JudgementLayout}
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
    context = {
        "project": project,
        "form": width,
        "language": language,
        "languages": [(one.tag, one.name) for one in results.languages],
        "half_width": width.half_width,
        "page": across_page(results),
        "images": images,
        "layouts": JudgementLayout,
        "table_layouts": TableLayout,
        "left_out": Comparison.objects.left_out().filter(project=project).count(),
    }
    return render(request, "sxs_eval/across.html", context, status=images.status)


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
