"""Private details in captions before a release: the list to look at, and a decision about one of them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from annotation.permissions import any_caption_managed_by
from annotation.selectors.details import details_page
from annotation.services.details import DetailChoice, DetailDecisionError, decide
from annotation.views.shared import kept_away
from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import user_of


@require_safe
def details_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    if elsewhere := kept_away(request, project, "annotation:release-list", slug):
        return elsewhere
    context = {"project": project, "choices": DetailChoice, **details_page(project)}
    return render(request, "annotation/details.html", context)


@require_POST
def details_decide(request: HttpRequest, slug: str, caption_id: int) -> HttpResponse:
    caption = any_caption_managed_by(request.user, slug, caption_id)
    if elsewhere := kept_away(request, caption.round.project, "annotation:release-list", slug):
        return elsewhere
    choice = request.POST.get("choice", "")
    try:
        if choice in DetailChoice.values:
            decide(caption_id=caption.pk, choice=DetailChoice(choice), by=user_of(request), now=timezone.now())
    except DetailDecisionError as refused:
        messages.error(request, str(refused))
    return redirect("annotation:details-show", slug)
