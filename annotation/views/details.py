"""Captions to look at before a release: with private details, or with names and descriptions; and decisions."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from annotation.permissions import any_caption_managed_by
from annotation.rules.people_details import PEOPLE_KINDS
from annotation.selectors.details import details_page, people_found
from annotation.services.details import DetailChoice, DetailDecisionError, decide
from annotation.views.shared import kept_away
from core.languages.models import Language
from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import user_of


@require_safe
def details_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    if elsewhere := kept_away(request, project, "annotation:release-list", slug):
        return elsewhere
    context = {"project": project, "choices": DetailChoice, **details_page(project)}
    if "kind" in request.GET:
        language, kind = (request.GET.get(name, "") for name in ("language", "kind"))
        context["people"] = people_found(project, language=language.replace("\0", ""), kind=kind)
    languages = Language.objects.filter(pk__in=project.rounds.values("language"))
    context["languages"] = sorted(((one.pk, one.name) for one in languages), key=lambda one: one[1])
    context["kinds"] = [(kind.value, kind.label) for kind in PEOPLE_KINDS]
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
    listed = reverse("annotation:details-show", args=[slug])
    return redirect(f"{listed}?{request.GET.urlencode()}" if request.GET else listed)
