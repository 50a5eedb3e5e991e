"""Which word vectors there are, for who sets up seasons."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from gapgame.permissions import READERS
from inference.models import WordVectorSet
from people.models import Role
from people.permissions import has_role, project_for


@require_safe
@login_required
def vectors_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    context = {"project": project, "decides": has_role(request.user, project, Role.MANAGER)}
    context["sets"] = WordVectorSet.objects.select_related("language").order_by("language", "name")
    return render(request, "gapgame/vectors.html", context)
