"""A manager's pages of hours, quality and cost, and of hourly rates."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Rating
from annotation.pages.quality import or_better
from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import csv_download, user_of
from office.recruitment.formats.costs import costs_as_csv
from office.recruitment.forms.rates import RatesForm
from office.recruitment.pages.costs import costs_page, selected_rows
from office.recruitment.selectors.costs import cost_rows, languages_of_work, rates_of
from office.recruitment.services.rates import set_rates


@require_safe
def cost_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    page = costs_page(cost_rows(project), request.GET, slug)
    context = {"project": project, "costs": page, "page": page.page, "has_rates": project.hourly_rates.exists()}
    return render(request, "recruitment/costs.html", context | {"good_or_better": or_better(Rating.GOOD)})


@require_safe
def cost_export(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Everything that the page shows with the same filters, on all its pages."""
    project = project_for(user_of(request), slug, Role.MANAGER)
    rows = selected_rows(cost_rows(project), request.GET, slug)
    return csv_download(costs_as_csv(rows), f"{project.slug}-costs.csv")


@require_http_methods(["GET", "HEAD", "POST"])
def rates_edit(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = RatesForm(request.POST or None, languages=languages_of_work(project), rates=rates_of(project))
    if form.is_valid():
        set_rates(project=project, rates=form.rates(), by=user_of(request), now=timezone.now())
        messages.success(request, _("The rates have been saved."))
        return redirect("recruitment:cost-list", slug)
    context = {"project": project, "form": form}
    return render(request, "recruitment/rates.html", context, status=422 if form.is_bound else 200)
