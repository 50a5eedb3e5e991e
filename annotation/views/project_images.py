"""The page of one image of a project."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.pages.project_image import project_image_page
from annotation.permissions import image_for, is_assigned_image
from core.people.requests import user_of


@require_safe
@login_required
def image_show(request: HttpRequest, slug: str, public_id: UUID) -> HttpResponse:
    project, entry = image_for(request.user, slug, public_id)
    if is_assigned_image(user_of(request), entry.image):
        messages.error(
            request,
            _("This image is in a batch that is assigned to you, and the page has what others wrote. "
              "Submit that batch first."),
        )  # fmt: skip
        return redirect("annotation:project-show", slug)
    page = project_image_page(entry, project, user_of(request))
    return render(request, "annotation/image.html", {"project": project, "page": page})
