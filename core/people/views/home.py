"""The start page: a welcome, or a redirect to the user's work."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from core.people.permissions import may_start_projects
from core.people.selectors.projects import own_projects, roles_of
from core.people.selectors.start_pages import start_page


@login_not_required
def home_show(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return render(request, "people/welcome.html")
    roles = roles_of(request.user)
    may_start = may_start_projects(request.user)
    destination = start_page(request.user, roles, may_start_projects=may_start, now=timezone.now())
    if destination:
        return redirect(destination)
    return render(request, "people/home.html", {"projects": own_projects(request.user)})
