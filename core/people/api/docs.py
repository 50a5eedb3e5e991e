"""The page that documents the API: Swagger UI over its schema, and what the codes of refusals mean."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.people.api.problems import ALL_CODES


@require_safe
def docs_show(request: HttpRequest) -> HttpResponse:
    return render(request, "api/docs.html", {"codes": sorted(ALL_CODES.items())})
