"""A manager's page of the audit log of a project."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.people.forms.audit_log import LogForm
from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import csv_download, user_of
from core.people.selectors.audit_log import EntryFilters, actions_in, log_as_csv, log_page


@require_safe
def log_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = LogForm(request.GET, project=project, actions=actions_in(project))
    is_valid = form.is_valid()
    wanted = form.wanted() if is_valid else EntryFilters()
    page = log_page(project, wanted, before=form.cleaned_data.get("before"))
    context = {"project": project, "form": form, "page": page, "is_filtered": wanted != EntryFilters()}
    return render(request, "people/log.html", context, status=200 if is_valid else 422)


@require_safe
def log_export(request: HttpRequest, slug: str) -> HttpResponseBase:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = LogForm(request.GET, project=project, actions=actions_in(project))
    if not form.is_valid():
        return log_show(request, slug)
    return csv_download(log_as_csv(project, form.wanted()), f"{project.slug}-log.csv")
