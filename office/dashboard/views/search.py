"""The page of search, and its part for the palette."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.people.permissions import check_reader
from core.people.requests import is_htmx, user_of
from office.dashboard.selectors.search import MAX_QUERY_CHARACTERS, search


@require_safe
def search_show(request: HttpRequest) -> HttpResponse:
    check_reader(user_of(request))
    words, here = request.GET.get("q", ""), request.GET.get("project", "")
    context = {
        "words": words,
        "here": here,
        "longest": MAX_QUERY_CHARACTERS,
        "groups": search(user_of(request), words, here=here),
    }
    return render(request, "dashboard/_search_results.html" if is_htmx(request) else "dashboard/search.html", context)
