"""The setup of a project, step by step."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from core.people.models import Role
from core.people.permissions import project_for
from office.dashboard.selectors.setup import is_released, setup_of


@require_safe
def setup_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    context = {"project": project, "setup": setup_of(project, released=is_released(project), now=timezone.now())}
    return render(request, "dashboard/setup.html", context)
