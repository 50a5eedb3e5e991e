"""The page that proposes comparisons from automatic scores, and makes those that are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from random import SystemRandom
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from core.people.models import Project
from core.people.permissions import READERS, project_for
from core.people.requests import user_of
from research.inference.selectors.assigned_work import warning_of_examples
from sxs_eval import tasks
from sxs_eval.formats.plans import missing_text, thresholds_text, warnings_of
from sxs_eval.forms.planning import PlanForm
from sxs_eval.rules.planning import PairVerdict, total_cost
from sxs_eval.selectors.planning import PlanRow, measured_pace, plan_rows
from sxs_eval.services.comparisons import ComparisonError
from sxs_eval.services.planning import ChosenPair, create_planned

SEED_BITS = 32


@require_http_methods(["GET", "HEAD", "POST"])
def plan_show(request: HttpRequest, slug: str) -> HttpResponse:
    """Take scores, propose a plan, make comparisons: each step sends the data of the one before."""
    project = project_for(request.user, slug, *READERS)
    measured = measured_pace(project)
    if request.method != "POST":
        form = PlanForm(project=project, measured=measured, initial={"seed": SystemRandom().getrandbits(SEED_BITS)})
        return _page(request, project, form)
    form = PlanForm(request.POST, request.FILES, project=project, measured=measured)
    if not form.is_valid():
        return _page(request, project, form, status=422)
    rows = _rows(project, form)
    if "create" not in request.POST:
        return _proposal(request, project, form, rows)
    if not _was_seen(request, form):
        messages.warning(
            request, _("No comparisons were created, because you changed the form. Check the new proposal first.")
        )
        return _proposal(request, project, form, rows, status=422)
    chosen = [row for row in rows if row.key and row.key in request.POST.getlist("session")]
    if not chosen:
        messages.error(request, _("Select at least one comparison."))
        return _proposal(request, project, form, rows, status=422)
    try:
        _create(request, project, form, chosen)
    except ComparisonError as refused:
        messages.error(request, str(refused))
        return _proposal(request, project, form, rows, status=422)
    return redirect("sxs_eval:comparison-list", project.slug)


def _was_seen(request: HttpRequest, form: PlanForm) -> bool:
    return request.POST.get("seen") == form.fingerprint()


def _rows(project: Project, form: PlanForm) -> list[PlanRow]:
    return plan_rows(
        form.plan.pairs,
        project=project,
        collection=form.cleaned_data["collection"],
        setting=form.setting(),
        pace_s=form.pace_s(),
    )


def _create(request: HttpRequest, project: Project, form: PlanForm, rows: Sequence[PlanRow]) -> None:
    made, there = create_planned(
        project=project,
        chosen=[ChosenPair(row.language, row.base, row.test) for row in rows if row.language and row.base and row.test],
        collection=form.cleaned_data["collection"],
        setting=form.setting(),
        by=user_of(request),
        now=timezone.now(),
    )
    tasks.nudge_filling([comparison.pk for comparison in made])
    _say_what_was_made(request, len(made), there)


def _say_what_was_made(request: HttpRequest, made: int, there: int) -> None:
    if made:
        text = ngettext(
            "%(number)d comparison was created. Its pairs are being created. The table below will fill within seconds.",
            "%(number)d comparisons were created. Their pairs are being created. The table below will fill "
            "within seconds.",
            made,
        )
        messages.success(request, text % {"number": made})
    if there:
        text = ngettext(
            "%(number)d comparison already existed and was not created again.",
            "%(number)d comparisons already existed and were not created again.",
            there,
        )
        messages.info(request, text % {"number": there})


def _proposal(
    request: HttpRequest,
    project: Project,
    form: PlanForm,
    rows: Sequence[PlanRow],
    *,
    status: int = 200,
) -> HttpResponse:
    suggested = {row.key for row in rows if row.is_suggested}
    ticked = set(request.POST.getlist("session")) if _was_seen(request, form) else suggested
    counted = [row for row in rows if row.key and row.key in ticked and row.existing is None]
    boxes = {row.key for row in counted}
    parts = [
        (verdict, [(row, row.key in boxes) for row in rows if row.session.verdict == verdict])
        for verdict in PairVerdict
    ]
    warning = warning_of_examples(project, form.cleaned_data["collection"])
    return _page(
        request,
        project,
        form,
        status=status,
        parts=parts,
        ticked=total_cost(row.cost for row in counted),
        sets=form.score_file.sets,
        thresholds=thresholds_text(form.thresholds()),
        notes=[*warnings_of(form.plan, form.score_file), *([warning] if warning else [])],
        missing=[missing_text(gap, form.score_file.sets) for gap in form.plan.missing],
        seen=form.fingerprint(),
    )


def _page(request: HttpRequest, project: Project, form: PlanForm, *, status: int = 200, **more: Any) -> HttpResponse:
    context = {"project": project, "form": form, **more}
    return render(request, "sxs_eval/plan.html", context, status=status)
