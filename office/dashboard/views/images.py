"""All images of a project in one table."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.people.models import Role
from core.people.permissions import READERS, project_for
from core.people.requests import user_of
from office.dashboard.pages.images import images_page
from office.dashboard.selectors.images import ProjectImages


@require_safe
def image_list(request: HttpRequest, slug: str) -> HttpResponse:
    project, viewer = project_for(request.user, slug, *READERS), user_of(request)
    manages = project.memberships.filter(user=viewer, role=Role.MANAGER).exists()
    page = images_page(ProjectImages(project), request.GET, viewer=viewer, manages=manages)
    return render(request, "dashboard/images.html", {"project": project, "page": page})
