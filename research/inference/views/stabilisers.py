"""The report on the stabilisers of a pivot-stabilised model."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from core.images.permissions import collections_to_use
from core.people.requests import csv_download, user_of
from research.inference.pages.stabilisers import stabilisers_page
from research.inference.permissions import model_for
from research.inference.selectors.stabilisers import stabilisers_table


@require_safe
def model_stabilisers(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_for(request.user, model_id)
    page = stabilisers_page(model, user_of(request), collection=request.GET.get("collection", ""))
    return render(request, "inference/stabilisers.html", {"model": model, "page": page})


@require_safe
def stabilisers_export(request: HttpRequest, model_id: int, slug: str) -> StreamingHttpResponse:
    model = model_for(request.user, model_id)
    collection = get_object_or_404(collections_to_use(request.user), slug=slug)
    lines = stabilisers_table(model, collection, user_of(request))
    return csv_download(lines, f"stabilisers-{model.pk}-{collection.slug}.csv")
