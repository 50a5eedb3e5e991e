"""The start page: a welcome, or a redirect to the user's work."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from people.permissions import may_start_projects
from people.rules.roles import home_of
from people.selectors.projects import own_projects, roles_of


def home_show(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return render(request, "people/welcome.html")
    roles = roles_of(request.user)
    destination = home_of(roles, may_start_projects=may_start_projects(request.user))
    if destination:
        return redirect(destination)
    return render(request, "people/home.html", {"projects": own_projects(request.user)})
