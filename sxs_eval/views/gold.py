"""The page of gold pairs: looking through them, switching bad ones off, adding one's own."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from core.people.models import Role
from core.people.permissions import has_role
from core.people.requests import user_of
from crosslens_metrics.formats.problems import FileRefusedError
from sxs_eval.forms.comparisons import GoldFileForm
from sxs_eval.models import Comparison, GoldPair
from sxs_eval.permissions import comparison_for, has_assigned_images
from sxs_eval.selectors.gold import gold_pairs_of
from sxs_eval.services import gold as services

GOLD_PAIRS_PER_PAGE = 20
MAX_PROBLEMS_SHOWN = 100


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
    return _page(request, comparison, form, outcome)


@require_POST
def gold_change(request: HttpRequest, slug: str, comparison_id: int, gold_id: int) -> HttpResponse:
    comparison = comparison_for(request.user, slug, comparison_id)
    if not GoldPair.objects.filter(comparison=comparison, pk=gold_id).exists():
        raise Http404(_("This comparison has no such gold pair."))
    services.use_gold_pair(comparison=comparison, gold_id=gold_id, is_used=request.POST.get("is_used") == "1")
    page = request.POST.get("page", "")
    query = f"?page={page}" if page.isascii() and page.isdigit() else ""
    return redirect(f"{reverse('sxs_eval:gold-list', args=[slug, comparison_id])}{query}#gold-{gold_id}")


def _refused(request: HttpRequest, comparison: Comparison) -> HttpResponse:
    messages.error(
        request,
        _("You have a batch with images of this comparison, and this page shows what models wrote about them. "
          "Submit that batch first, or ask somebody else."),
    )  # fmt: skip
    return redirect("sxs_eval:comparison-list", comparison.project.slug)


def _import(form: GoldFileForm, comparison: Comparison) -> services.GoldImport | None:
    given = form.cleaned_data
    try:
        return services.import_gold_pairs(
            comparison=comparison, file=given["file"].file, only_these=given["only_these"]
        )
    except FileRefusedError as refused:
        form.add_error("file", str(refused))
        return None


def _page(
    request: HttpRequest, comparison: Comparison, form: GoldFileForm, outcome: services.GoldImport | None
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


def _say_what_was_added(request: HttpRequest, outcome: services.GoldImport) -> None:
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
