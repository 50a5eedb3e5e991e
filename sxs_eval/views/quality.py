"""Managers' pages about the quality of a comparison: its raters, with decisions about them, and its gold pairs."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people.models import Role, User
from core.people.permissions import has_role
from core.people.requests import user_of
from crosslens_metrics.formats.problems import FileRefusedError
from sxs_eval.forms.comparisons import DecisionForm, GoldFileForm
from sxs_eval.models import LEFT_OUT, Comparison, GoldPair, Judgement, RaterStatus
from sxs_eval.permissions import comparison_for, has_assigned_images
from sxs_eval.selectors.overview import failures_of, raters_of
from sxs_eval.selectors.pairs import gold_pairs_of
from sxs_eval.services.quality import (
    GoldImport,
    exclude_rater,
    import_gold_pairs,
    pause_raters,
    restore_rater,
    use_gold_pair,
)
from sxs_eval.views.reports import captions_are_closed

GOLD_PAIRS_PER_PAGE = 20
MAX_PROBLEMS_SHOWN = 100


@require_safe
def rater_list(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id, Role.MANAGER)
    return _raters_page(request, comparison, asked=request.GET.get("rater", ""))


@require_POST
def rater_decide(request: HttpRequest, slug: str, comparison_id: int, rater_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id, Role.MANAGER)
    known = Judgement.objects.filter(comparison=comparison).values("person")
    rater = get_object_or_404(User, pk=rater_id, pk__in=known)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _raters_page(request, comparison, asked=str(rater_id), form=form)
    if form.cleaned_data["decision"] == DecisionForm.EXCLUDE:
        _exclude(request, comparison, rater, form.cleaned_data["note"])
    elif form.cleaned_data["decision"] == DecisionForm.PAUSE:
        _pause(request, comparison, [rater], form.cleaned_data["note"])
    else:
        _restore(request, comparison, rater, form.cleaned_data["note"])
    return redirect("sxs_eval:rater-list", slug, comparison_id)


@require_POST
def scripted_pause(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id, Role.MANAGER)
    found = [row.person for row in raters_of(comparison) if row.counts_although_scripted]
    _pause(request, comparison, found, _("The answers look scripted."))
    return redirect("sxs_eval:rater-list", slug, comparison_id)


def _raters_page(
    request: HttpRequest, comparison: Comparison, *, asked: str, form: DecisionForm | None = None
) -> HttpResponse:
    if has_assigned_images(user_of(request), [comparison]):
        return _refused(request, comparison)
    rows = raters_of(comparison)
    looked_at = [
        (row, failures_of(comparison, row.person), form if asked == str(row.person.pk) else None)
        for row in rows
        if row.is_paused or asked == str(row.person.pk)
    ]
    context = {
        "comparison": comparison,
        "project": comparison.project,
        "raters": rows,
        "looked_at": looked_at,
        "scripted": sum(row.counts_although_scripted for row in rows),
    }
    return render(request, "sxs_eval/raters.html", context | {"decides": True}, status=422 if form else 200)


def _pause(request: HttpRequest, comparison: Comparison, raters: Sequence[User], note: str) -> None:
    paused = pause_raters(comparison=comparison, raters=raters, note=note, by=user_of(request), now=timezone.now())
    text = ngettext(
        "%(number)d rater is paused. None of their judgements counts until you restore them.",
        "%(number)d raters are paused. None of their judgements counts until you restore them.",
        paused,
    )
    messages.success(request, text % {"number": paused})


def _exclude(request: HttpRequest, comparison: Comparison, rater: User, note: str) -> None:
    freed = exclude_rater(comparison=comparison, rater=rater, note=note, by=user_of(request), now=timezone.now())
    text = ngettext(
        "%(name)s is excluded. %(number)d judgement is kept but does not count. Another rater judges that pair.",
        "%(name)s is excluded. %(number)d judgements are kept but do not count. Other raters judge those pairs.",
        freed,
    )
    messages.success(request, text % {"name": rater.username, "number": freed})


def _restore(request: HttpRequest, comparison: Comparison, rater: User, note: str) -> None:
    try:
        status = restore_rater(comparison=comparison, rater=rater, note=note, by=user_of(request), now=timezone.now())
    except RaterStatus.DoesNotExist:
        messages.info(request, _("%(name)s was not paused, so nothing has changed.") % {"name": rater.username})
        return
    if status.state in LEFT_OUT:
        text = _("%(name)s stays excluded: the pairs have already been reassigned to other raters.")
        messages.warning(request, text % {"name": rater.username})
    else:
        text = _("%(name)s is restored. All judgements count again, and failures so far are forgiven.")
        messages.success(request, text % {"name": rater.username})


@require_http_methods(["GET", "HEAD", "POST"])
def gold_list(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id)
    if has_assigned_images(user_of(request), [comparison]):
        return _refused(request, comparison)
    form = GoldFileForm(request.POST or None, request.FILES or None)
    outcome = _import(form, comparison) if form.is_bound and form.is_valid() else None
    if outcome and not outcome.problems:
        _say_what_was_added(request, outcome)
        return redirect("sxs_eval:gold-list", slug, comparison_id)
    return _gold_page(request, comparison, form, outcome)


@require_POST
def gold_change(request: HttpRequest, slug: str, comparison_id: int, gold_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id)
    if not GoldPair.objects.filter(comparison=comparison, pk=gold_id).exists():
        raise Http404(_("This comparison has no such gold pair."))
    use_gold_pair(comparison=comparison, gold_id=gold_id, is_used=request.POST.get("is_used") == "1")
    page = request.POST.get("page", "")
    query = f"?page={page}" if page.isascii() and page.isdigit() else ""
    return redirect(f"{reverse('sxs_eval:gold-list', args=[slug, comparison_id])}{query}#gold-{gold_id}")


def _refused(request: HttpRequest, comparison: Comparison) -> HttpResponse:
    messages.error(request, captions_are_closed())
    return redirect("sxs_eval:comparison-list", comparison.project.slug)


def _import(form: GoldFileForm, comparison: Comparison) -> GoldImport | None:
    given = form.cleaned_data
    try:
        return import_gold_pairs(comparison=comparison, file=given["file"].file, only_these=given["only_these"])
    except FileRefusedError as refused:
        form.add_error("file", str(refused))
        return None


def _gold_page(
    request: HttpRequest, comparison: Comparison, form: GoldFileForm, outcome: GoldImport | None
) -> HttpResponse:
    page = Paginator(gold_pairs_of(comparison), GOLD_PAIRS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "comparison": comparison,
        "project": comparison.project,
        "decides": has_role(request.user, comparison.project, Role.MANAGER),
        "page": page,
        "used": GoldPair.objects.filter(comparison=comparison, is_used=True).count(),
        "form": form,
        "outcome": outcome,
        "problems": outcome.problems[:MAX_PROBLEMS_SHOWN] if outcome else [],
    }
    return render(request, "sxs_eval/gold.html", context, status=422 if form.is_bound else 200)


def _say_what_was_added(request: HttpRequest, outcome: GoldImport) -> None:
    text = ngettext(
        "%(number)d gold pair was added. %(already)d were already there.",
        "%(number)d gold pairs were added. %(already)d were already there.",
        outcome.added,
    )
    messages.success(request, text % {"number": outcome.added, "already": outcome.already})
    if outcome.had_hidden:
        removed = ngettext(
            "Invisible characters were removed from %(number)d caption.",
            "Invisible characters were removed from %(number)d captions.",
            outcome.had_hidden,
        )
        messages.warning(request, removed % {"number": outcome.had_hidden})
