"""Pages of managers and researchers to set up, propose, follow and change comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import SystemRandom
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.images.models import Collection
from core.images.permissions import collections_in
from core.languages.models import Language
from core.people.defaults import default_text
from core.people.models import Project, Role, TextKind
from core.people.permissions import READERS, has_role, project_for
from core.people.requests import RefusalsShown, user_of
from core.people.selectors.texts import OriginalText, shown_text
from research.inference.selectors.assigned_work import warning_of_examples
from sxs_eval import tasks
from sxs_eval.formats.plans import missing_text, thresholds_text, warnings_of
from sxs_eval.forms.comparisons import (
    CollectionForm,
    ComparisonForm,
    InstructionsForm,
    ModelsForm,
    RemovalForm,
    SettingsForm,
)
from sxs_eval.forms.planning import PlanForm
from sxs_eval.models import Comparison, Instructions
from sxs_eval.permissions import check_reader, comparison_for
from sxs_eval.rules.planning import PairVerdict, total_cost
from sxs_eval.selectors import overview, planning
from sxs_eval.selectors.planning import PlanRow, measured_pace, pay_of
from sxs_eval.selectors.platform_scores import plan_fields, scored_figures
from sxs_eval.services import comparison_removal as removal
from sxs_eval.services import comparisons as services
from sxs_eval.services.comparisons import ComparisonError
from sxs_eval.services.planning import create_planned

SEED_BITS = 32


@require_safe
def evaluation_list(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    evaluations = overview.evaluations_of(user_of(request), now=timezone.now())
    return render(request, "sxs_eval/evaluations.html", {"evaluations": evaluations})


@require_safe
def comparison_list(request: HttpRequest, slug: str) -> HttpResponse:
    return render(request, "sxs_eval/comparisons.html", _progress(request, slug))


@require_safe
def comparisons_progress(request: HttpRequest, slug: str) -> HttpResponse:
    """Render the part of the page that refreshes itself."""
    return render(request, "sxs_eval/_comparisons_progress.html", _progress(request, slug))


@require_http_methods(["GET", "HEAD", "POST"])
def comparison_create(request: HttpRequest, slug: str) -> HttpResponse:
    """Set up comparisons in three steps at one address: collection, models, the rest."""
    project = project_for(request.user, slug, *READERS)
    asked = request.GET if "collection" in request.GET else None
    chosen = CollectionForm(asked, project=project, by=user_of(request))
    if not chosen.is_valid():
        context = {"project": project, "form": chosen, "collections": collections_in(project).exists()}
        return render(request, "sxs_eval/comparison_collection.html", context)
    collection: Collection = chosen.cleaned_data["collection"]
    described = planning.models_with_captions(project, collection)
    is_asked = {"base", "test"} & request.GET.keys()
    models = ModelsForm(request.GET if is_asked else None, models=described, initial={"collection": collection.slug})
    if not models.is_valid():
        context = {"project": project, "form": models, "collection": collection, "models": described}
        return render(request, "sxs_eval/comparison_models.html", context)
    return _create(request, project, collection, models)


def _create(request: HttpRequest, project: Project, collection: Collection, models: ModelsForm) -> HttpResponse:
    base, test = models.cleaned_data["base"], models.cleaned_data["test"]
    form = ComparisonForm(
        request.POST or None,
        coverage=planning.coverage_of(project, collection, base, test),
        images=planning.size_of(collection),
        left=partial(planning.left_by, project=project, collection=collection, base=base, test=test),
        seed=SystemRandom().getrandbits(SEED_BITS),
    )
    about = {"project": project, "collection": collection, "base": base, "test": test}
    if form.is_valid() and _created(request, form, about):
        return redirect("sxs_eval:comparison-list", project.slug)
    context = about | {"form": form, "warning": warning_of_examples(project, collection)}
    return render(request, "sxs_eval/comparison_create.html", context, status=422 if form.is_bound else 200)


def _created(request: HttpRequest, form: ComparisonForm, about: dict[str, Any]) -> bool:
    """Create them; False if they are refused, and the form says why."""
    setting, by, now = form.setting(), user_of(request), timezone.now()
    with RefusalsShown(form, services.ComparisonError, field="only"):
        made, already = services.create_comparisons(
            languages=form.languages(), setting=setting, by=by, now=now, **about
        )
        tasks.nudge_filling([comparison.pk for comparison in made])
        _say_what_was_made(request, made, already)
        _say_what_is_short(request, form)
        return True
    return False


@require_http_methods(["GET", "HEAD", "POST"])
def comparison_settings(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id)
    form = SettingsForm(request.POST or None, comparison=comparison)
    if not form.is_valid():
        context = {"form": form, "comparison": comparison, "project": comparison.project}
        context["decides"] = has_role(request.user, comparison.project, Role.MANAGER)
        return render(request, "sxs_eval/comparison_settings.html", context, status=422 if form.is_bound else 200)
    by, now = user_of(request), timezone.now()
    services.change_comparison(comparison=comparison, settings=form.settings(), by=by, now=now)
    messages.success(request, _("The settings are saved. They apply to batches that people take from now on."))
    if "replication" in form.changed_data:
        replication = form.cleaned_data["replication"]
        above = services.change_replication(comparison=comparison, replication=replication, by=by, now=now)
        _say_what_stays_above(request, comparison, above)
    return redirect("sxs_eval:comparison-list", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def comparison_remove(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    """Delete a comparison, leave it and others like it out of results, or count it again: the button says which."""
    comparison = comparison_for(request.user, slug, comparison_id, Role.MANAGER)
    who: dict[str, Any] = {"by": user_of(request), "now": timezone.now()}
    form = RemovalForm(request.POST if "leave-out" in request.POST else None, comparison=comparison)
    if "delete" in request.POST and _is_deleted(request, comparison, who):
        return redirect("sxs_eval:comparison-list", slug)
    if "count" in request.POST:
        removal.count_comparisons_again(comparisons=[comparison], **who)
        messages.success(request, _("The comparison counts in results again."))
        return redirect("sxs_eval:comparison-show", slug, comparison_id)
    if form.is_valid():
        number = removal.leave_out_comparisons(comparisons=form.chosen(), reason=form.cleaned_data["reason"], **who)
        text = ngettext(
            "%(number)d comparison is left out of results.", "%(number)d comparisons are left out of results.", number
        )
        messages.success(request, text % {"number": number})
        return redirect("sxs_eval:comparison-list", slug)
    context = {"form": form, "comparison": comparison, "project": comparison.project, "decides": True}
    context["is_judged"] = comparison.batches.exists()
    return render(request, "sxs_eval/comparison_remove.html", context, status=422 if form.is_bound else 200)


def _is_deleted(request: HttpRequest, comparison: Comparison, who: dict[str, Any]) -> bool:
    """Delete it and say so; False if that is refused, which is said too."""
    with RefusalsShown(request, services.ComparisonError):
        removal.delete_comparison(comparison=comparison, **who)
        messages.success(request, _("The comparison was deleted."))
        return True
    return False


@require_POST
def pairs_add(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id)
    with RefusalsShown(request, services.ComparisonError):
        services.ask_for_missing_pairs(comparison_ids=[comparison.pk])
        tasks.nudge_filling([comparison.pk])
        messages.success(request, _("Looking for new captions. The numbers below will change within seconds."))
    return redirect("sxs_eval:comparison-list", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def instructions_publish(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    last = Instructions.objects.filter(project=project).order_by("version").last()
    form = InstructionsForm(
        request.POST or None, initial={"body": last.body if last else default_text(TextKind.INSTRUCTIONS)}
    )
    if form.is_valid():
        published = services.publish_instructions(
            project=project, body=form.cleaned_data["body"], by=user_of(request), now=timezone.now()
        )
        messages.success(request, _("Version %(version)d is now in use.") % {"version": published.version})
        return redirect("sxs_eval:instructions-publish", slug)
    shown = last and shown_text(
        project, TextKind.INSTRUCTIONS, OriginalText(last.version, last.body), wants_original=True
    )
    context = {"project": project, "form": form, "instructions": last, "text": shown}
    return render(request, "sxs_eval/instructions_publish.html", context, status=422 if form.is_bound else 200)


def _progress(request: HttpRequest, slug: str) -> dict[str, object]:
    project = project_for(request.user, slug, *READERS)
    return {
        "project": project,
        "progress": overview.project_progress(project, now=timezone.now()),
        "decides": has_role(request.user, project, Role.MANAGER),
    }


def _say_what_was_made(request: HttpRequest, made: Sequence[Comparison], already: Sequence[Language]) -> None:
    if made:
        messages.success(request, _("The pairs are being created. The table below will fill within seconds."))
    if already:
        text = _("Not created, because these models are compared on the same images already: %(languages)s.")
        messages.info(request, text % {"languages": ", ".join(language.name for language in already)})


def _say_what_is_short(request: HttpRequest, form: ComparisonForm) -> None:
    text = _("There are fewer than %(wanted)d pairs, because both models describe fewer images: %(rows)s.")
    for wanted, languages in form.short().items():
        messages.warning(request, text % {"wanted": wanted, "rows": ", ".join(languages)})


def _say_what_stays_above(request: HttpRequest, comparison: Comparison, above: int) -> None:
    text = ngettext(
        "%(language)s: %(number)d pair keeps more places, because more people have judged it or are judging it.",
        "%(language)s: %(number)d pairs keep more places, because more people have judged them or are judging them.",
        above,
    )
    if above:
        messages.warning(request, text % {"language": comparison.language.name, "number": above})


@require_http_methods(["GET", "HEAD", "POST"])
def plan_show(request: HttpRequest, slug: str) -> HttpResponse:
    """Take scores, propose a plan, make comparisons: each step sends the data of the one before."""
    project = project_for(request.user, slug, *READERS)
    measured = measured_pace(project)
    if request.method != "POST":
        initial = {"seed": SystemRandom().getrandbits(SEED_BITS)} | plan_fields(project, request.GET.get("figure", ""))
        return _plan_page(request, project, PlanForm(project=project, measured=measured, initial=initial))
    form = PlanForm(request.POST, request.FILES, project=project, measured=measured)
    if not form.is_valid():
        return _plan_page(request, project, form, status=422)
    rows = form.rows()
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
    with RefusalsShown(request, ComparisonError):
        _create_planned(request, project, form, chosen)
        return redirect("sxs_eval:comparison-list", project.slug)
    return _proposal(request, project, form, rows, status=422)


def _was_seen(request: HttpRequest, form: PlanForm) -> bool:
    return request.POST.get("seen") == form.fingerprint()


def _create_planned(request: HttpRequest, project: Project, form: PlanForm, rows: Sequence[PlanRow]) -> None:
    made, there = create_planned(
        project=project,
        chosen=form.chosen_pairs(rows),
        collection=form.cleaned_data["collection"],
        setting=form.setting(),
        by=user_of(request),
        now=timezone.now(),
    )
    tasks.nudge_filling([comparison.pk for comparison in made])
    _say_how_many_were_made(request, len(made), there)


def _say_how_many_were_made(request: HttpRequest, made: int, there: int) -> None:
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
    from sxs_eval.pages.planning import design_page

    suggested = {row.key for row in rows if row.is_suggested}
    ticked = set(request.POST.getlist("session")) if _was_seen(request, form) else suggested
    counted = [row for row in rows if row.key and row.key in ticked and row.existing is None]
    boxes = {row.key for row in counted}
    parts = [
        (verdict, [(row, row.key in boxes) for row in rows if row.session.verdict == verdict])
        for verdict in PairVerdict
    ]
    warning = warning_of_examples(project, form.cleaned_data["collection"])
    design = form.design_of(rows)
    cost, pace = total_cost(row.cost for row in counted), form.judging_pace()
    return _plan_page(
        request,
        project,
        form,
        status=status,
        parts=parts,
        ticked=cost,
        within=pace.within_hours(cost.judgements + cost.attention),
        pace=pace,
        pay=pay_of(project, cost),
        design=design_page(design) if design else None,
        sets=form.score_file.sets,
        thresholds=thresholds_text(form.thresholds()),
        notes=[*warnings_of(form.plan, form.score_file), *([warning] if warning else [])],
        missing=[missing_text(gap, form.score_file.sets) for gap in form.plan.missing],
        seen=form.fingerprint(),
    )


def _plan_page(
    request: HttpRequest, project: Project, form: PlanForm, *, status: int = 200, **more: Any
) -> HttpResponse:
    context = {"project": project, "form": form, "figures": scored_figures(project), **more}
    return render(request, "sxs_eval/plan.html", context, status=status)
