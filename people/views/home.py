"""The start page: a welcome, or on to where one's work is."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from people import rules, selectors
from people.permissions import may_start_projects


def home_show(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return render(request, "people/welcome.html")
    roles = selectors.roles_of(request.user)
    destination = rules.home_of(roles, may_start_projects=may_start_projects(request.user))
    if destination:
        return redirect(destination)
    return render(request, "people/home.html", {"projects": selectors.own_projects(request.user)})
