"""Managers' page about the raters of a comparison, and decisions about them."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from core.people.models import Role, User
from core.people.requests import user_of
from sxs_eval.forms.comparisons import DecisionForm
from sxs_eval.models import LEFT_OUT, Comparison, Judgement, RaterStatus
from sxs_eval.permissions import comparison_for, has_assigned_images
from sxs_eval.selectors.raters import failures_of, raters_of
from sxs_eval.services import raters as services


@require_safe
def rater_list(request: HttpRequest, slug: str, comparison_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id, Role.MANAGER)
    return _page(request, comparison, asked=request.GET.get("rater", ""))


@require_POST
def rater_decide(request: HttpRequest, slug: str, comparison_id: int, rater_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id, Role.MANAGER)
    known = Judgement.objects.filter(comparison=comparison).values("person")
    rater = get_object_or_404(User, pk=rater_id, pk__in=known)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _page(request, comparison, asked=str(rater_id), form=form)
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


def _page(
    request: HttpRequest, comparison: Comparison, *, asked: str, form: DecisionForm | None = None
) -> HttpResponse:
    if has_assigned_images(user_of(request), [comparison]):
        messages.error(
            request,
            _("You have a batch with images of this comparison, and this page shows what models wrote about "
              "them. Submit that batch first, or ask another manager."),
        )  # fmt: skip
        return redirect("sxs_eval:comparison-list", comparison.project.slug)
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
    paused = services.pause_raters(
        comparison=comparison, raters=raters, note=note, by=user_of(request), now=timezone.now()
    )
    text = ngettext(
        "%(number)d rater is paused. None of their judgements counts until you restore them.",
        "%(number)d raters are paused. None of their judgements counts until you restore them.",
        paused,
    )
    messages.success(request, text % {"number": paused})


def _exclude(request: HttpRequest, comparison: Comparison, rater: User, note: str) -> None:
    freed = services.exclude_rater(
        comparison=comparison, rater=rater, note=note, by=user_of(request), now=timezone.now()
    )
    text = ngettext(
        "%(name)s is excluded. %(number)d judgement is kept but does not count. Another rater judges that pair.",
        "%(name)s is excluded. %(number)d judgements are kept but do not count. Other raters judge those pairs.",
        freed,
    )
    messages.success(request, text % {"name": rater.username, "number": freed})


def _restore(request: HttpRequest, comparison: Comparison, rater: User, note: str) -> None:
    try:
        status = services.restore_rater(
            comparison=comparison, rater=rater, note=note, by=user_of(request), now=timezone.now()
        )
    except RaterStatus.DoesNotExist:
        messages.info(request, _("%(name)s was not paused, so nothing has changed.") % {"name": rater.username})
        return
    if status.state in LEFT_OUT:
        text = _("%(name)s stays excluded: the pairs have already been reassigned to other raters.")
        messages.warning(request, text % {"name": rater.username})
    else:
        text = _("%(name)s is restored. All judgements count again, and failures so far are forgiven.")
        messages.success(request, text % {"name": rater.username})
