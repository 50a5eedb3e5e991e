"""Pages of scores: the table, new scorings, one with its history, the images behind it, comparisons, and downloads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people.models import Project
from core.people.permissions import READERS, project_for
from core.people.requests import RefusalsShown, render_part, user_of
from research.scoring import tasks
from research.scoring.forms.scores import (
    CompareForm,
    ManyScoringsForm,
    ReferenceSetForm,
    ScoringForm,
    WithoutReferencesForm,
)
from research.scoring.models import ReferenceSet, Scoring
from research.scoring.pages.comparing import compare_page, labels_of
from research.scoring.pages.images import ScoredImagesShown, images_page
from research.scoring.pages.progress import progress_of
from research.scoring.pages.scores import scores_page
from research.scoring.permissions import has_assigned_images, images_are_closed, scoring_for
from research.scoring.rules.metrics import MetricChoiceError
from research.scoring.selectors import setup
from research.scoring.selectors.restricting import by_level, restricted_figures, with_intervals
from research.scoring.selectors.scores import learned_counts, score_cells, scoring_details, scoring_rows
from research.scoring.selectors.some_figures import MIN_IMAGES, RESAMPLES, keeps_frequencies
from research.scoring.services import scorings as services
from research.scoring.services.references import ReferenceFileError, without_references
from research.selection.pages.image_filters import asked_images, with_reason
from research.selection.rules.image_filters import ImageFilterError


@require_safe
def score_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    rows = scoring_rows(project)
    images = asked_images(request.GET, project, collections={row.scoring.references.collection_id for row in rows})
    cells = score_cells(project)
    try:
        cells = restricted_figures(cells, project=project, filter=images.filter)
    except ImageFilterError as refused:
        images = with_reason(images, refused)
    context = {
        "project": project,
        "page": scores_page(rows, cells, request.GET),
        "progress": progress_of(rows),
        "images": images,
        "keeps_frequencies": any(keeps_frequencies(cell.signature) for cell in cells),
    }
    return render(request, "scoring/scores.html", context, status=images.status)


@require_safe
def scores_progress(request: HttpRequest, slug: str) -> HttpResponse:
    """The part of the page that refreshes itself; when all is computed, it reloads the whole page."""
    project = project_for(request.user, slug, *READERS)
    progress, page = progress_of(scoring_rows(project)), reverse("scoring:score-list", args=[slug])
    context = {"project": project, "progress": progress}
    return render_part(request, "scoring/_progress.html", context, page=page, is_over=not progress["open"])


@require_http_methods(["GET", "HEAD", "POST"])
def scoring_create(request: HttpRequest, slug: str) -> HttpResponse:
    """Create scorings of many languages at once, or in two steps at one URL: the second depends on the references."""
    project = project_for(request.user, slug, *READERS)
    sets = list(setup.reference_sets(project))
    chosen = ReferenceSetForm(request.GET if "references" in request.GET else None, sets=sets)
    if chosen.is_valid():
        return _create(request, project, chosen.cleaned_data["references"])
    several = ManyScoringsForm(request.POST if "many" in request.POST else None, coverages=setup.coverages_of(sets))
    is_without = request.method == "POST" and not several.is_bound and "references" not in request.GET
    without = WithoutReferencesForm(request.POST if is_without else None, project=project)
    if several.is_valid():
        with RefusalsShown(several, MetricChoiceError, field="metrics"):
            return _create_many(request, project, several)
    if without.is_valid():
        return _without_references(request, project, without)
    context = {"project": project, "form": chosen, "several": several, "without": without, "sets": sets}
    status = 422 if without.is_bound or several.is_bound else 200
    return render(request, "scoring/scoring_references.html", context, status=status)


def _create_many(request: HttpRequest, project: Project, form: ManyScoringsForm) -> HttpResponse:
    about = {"metrics": form.cleaned_data["metrics"], "normalise": form.cleaned_data["normalise"]}
    made, left_out = services.create_many_scorings(
        project=project, chosen=form.chosen(), **about, by=user_of(request), now=timezone.now()
    )
    text = _("%(metric)s was left out in %(languages)s: something that it needs is missing there.")
    for metric, languages in left_out.items():
        names = ", ".join(dict.fromkeys(one.name for one in languages))
        messages.warning(request, text % {"metric": metric, "languages": names})
    return _created(request, project, made)


def _without_references(request: HttpRequest, project: Project, form: WithoutReferencesForm) -> HttpResponse:
    """Go on to the second step."""
    with RefusalsShown(request, ReferenceFileError):
        made = without_references(project=project, by=user_of(request), now=timezone.now(), **form.cleaned_data)
        return redirect(f"{reverse('scoring:scoring-create', args=[project.slug])}?references={made.pk}")
    return redirect("scoring:scoring-create", project.slug)


def _create(request: HttpRequest, project: Project, references: ReferenceSet) -> HttpResponse:
    coverage = setup.coverage_of(references)
    form = ScoringForm(request.POST or None, references=references, coverage=coverage)
    if form.is_valid():
        with RefusalsShown(form, MetricChoiceError, field="metrics"):
            about = {"project": project, "references": references, **form.cleaned_data}
            made = services.create_scorings(**about, by=user_of(request), now=timezone.now())
            return _created(request, project, made)
    context = {"project": project, "form": form, "references": references, "coverage": coverage}
    return render(request, "scoring/scoring_create.html", context, status=422 if form.is_bound else 200)


def _created(request: HttpRequest, project: Project, made: list[Scoring]) -> HttpResponse:
    tasks.ask_for_passes(made)
    text = ngettext("%(number)d scoring is being computed.", "%(number)d scorings are being computed.", len(made))
    messages.success(request, text % {"number": len(made)})
    return redirect("scoring:score-list", project.slug)


@require_safe
def scoring_show(request: HttpRequest, slug: str, scoring_id: int) -> HttpResponse:
    scoring = scoring_for(request.user, slug, scoring_id)
    context = {"project": scoring.project} | _details(scoring)
    return render(request, "scoring/scoring.html", context)


@require_safe
def scoring_progress(request: HttpRequest, slug: str, scoring_id: int) -> HttpResponse:
    """The part of the page that refreshes itself."""
    scoring = scoring_for(request.user, slug, scoring_id)
    context, page = (
        {"project": scoring.project} | _details(scoring),
        reverse("scoring:scoring-show", args=[slug, scoring_id]),
    )
    is_over = context["details"].row.open is None
    return render_part(request, "scoring/_scoring_progress.html", context, page=page, is_over=is_over)


@require_POST
def scoring_again(request: HttpRequest, slug: str, scoring_id: int) -> HttpResponse:
    scoring = scoring_for(request.user, slug, scoring_id)
    services.ask_again(scoring=scoring, now=timezone.now())
    tasks.ask_for_passes([scoring])
    messages.success(request, _("It is being recomputed. Earlier results stay in the history."))
    return redirect("scoring:scoring-show", slug, scoring_id)


@require_http_methods(["GET", "HEAD", "POST"])
def scoring_drop(request: HttpRequest, slug: str, scoring_id: int) -> HttpResponse:
    scoring = scoring_for(request.user, slug, scoring_id)
    if request.method != "POST":
        return render(request, "scoring/scoring_drop.html", {"project": scoring.project, "scoring": scoring})
    services.delete_scoring(scoring=scoring)
    messages.success(request, _("The scoring and its history are removed."))
    return redirect("scoring:score-list", slug)


def _details(scoring: Scoring) -> dict[str, Any]:
    details = scoring_details(scoring)
    levels = by_level(details.cells, project=scoring.project)
    details = replace(details, cells=with_intervals(details.cells, project=scoring.project))
    return {
        "scoring": scoring,
        "details": details,
        "left_out": scoring.references.collection.entries.left_out().count(),
        "learned": learned_counts([details.row]).get(scoring.pk, 0),
        "levels": levels,
        "keeps_frequencies": any(keeps_frequencies(cell.signature) for level in levels for cell in level.cells),
        "fewest_images": MIN_IMAGES,
        "resamples": RESAMPLES,
        "is_outdated": setup.is_outdated(details.row),
    }


@require_safe
def scoring_images(request: HttpRequest, slug: str, scoring_id: int) -> HttpResponse:
    scoring = scoring_for(request.user, slug, scoring_id)
    if has_assigned_images(user_of(request), [scoring.references]):
        messages.error(request, images_are_closed())
        return redirect("scoring:scoring-show", slug, scoring_id)
    asked = {name: request.GET.get(name, "") for name in ("metric", "show", "against")}
    page = images_page(scoring, user_of(request), **asked, number=request.GET.get("page", "1"))
    if page is None:
        return redirect("scoring:scoring-show", slug, scoring_id)
    context = {
        "project": scoring.project,
        "scoring": scoring,
        "listing": page,
        "page": page["page"],
        "shows": ScoredImagesShown,
    }
    return render(request, "scoring/images.html", context)


@require_safe
def score_compare(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    rows = scoring_rows(project)
    labels = labels_of(rows)
    is_asked = {"test", "base"} & request.GET.keys()
    form = CompareForm(request.GET if is_asked else None, project=project, labels=labels)
    images = asked_images(request.GET, project, collections={row.scoring.references.collection_id for row in rows})
    context = {"project": project, "form": form, "labels": labels}
    if form.is_valid() and not images.error:
        test, base, method = (form.cleaned_data[name] for name in ("test", "base", "method"))
        is_closed = has_assigned_images(user_of(request), [test.references])
        viewer = None if is_closed else user_of(request)
        metric = request.GET.get("metric", "")
        try:
            page = compare_page(test, base, viewer, method=method, metric=metric, filter=images.filter)
        except ImageFilterError as refused:
            images = with_reason(images, refused)
        else:
            context |= {"comparison": page, "test": test, "base": base, "method": method, "is_closed": is_closed}
    return render(request, "scoring/compare.html", context | {"images": images}, status=images.status)
