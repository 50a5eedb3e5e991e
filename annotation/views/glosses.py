"""Translations of captions into English, for managers who do not read the language."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import tasks
from annotation.forms.glosses import GlossForm
from annotation.permissions import language_of
from annotation.selectors.glosses import gloss_progress
from annotation.services import glosses
from core.people.models import Role
from core.people.requests import user_of


@require_http_methods(["GET", "HEAD", "POST"])
def glosses_ask(request: HttpRequest, slug: str, tag: str) -> HttpResponse:
    """Say how far the translations are and who would make them; ask for them, or delete them."""
    project, language = language_of(request.user, slug, tag, Role.MANAGER)
    about: dict[str, Any] = {"project": project, "by": user_of(request), "now": timezone.now()}
    if request.POST.get("action") == "delete":
        glosses.delete_glosses(language=language, **about)
        messages.success(request, _("The translations were deleted."))
        return redirect("annotation:glosses-ask", slug, tag)
    progress = gloss_progress(project, language)
    form = GlossForm(request.POST or None, project=project, language=language, initial=progress.asked)
    if form.is_valid():
        tasks.ask_for_glosses_of(glosses.ask_for_glosses(**form.asked(), **about))
        messages.success(request, _("The captions are being translated in the background."))
        return redirect("annotation:glosses-ask", slug, tag)
    context = {"project": project, "language": language, "form": form, "progress": progress}
    return render(request, "annotation/glosses.html", context, status=422 if form.is_bound else 200)
