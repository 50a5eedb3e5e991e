"""Managers' page about where the images of a collection were taken."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from core.images.permissions import collection_for, collection_to_change, may_change
from research.selection.selectors.image_places import place_summary, placed_entries, placed_images
from research.selection.tasks import ask_for_places

IMAGES_PER_PAGE = 100


@require_safe
def collection_places(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug)
    only_problems = request.GET.get("show") == "problems"
    entries = placed_entries(collection, only_problems=only_problems)
    page = Paginator(entries, IMAGES_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "collection": collection,
        "summary": place_summary(collection),
        "page": page,
        "images": placed_images(page),
        "only_problems": only_problems,
        "may_change": may_change(request.user, collection),
    }
    return render(request, "corpora/collection_places.html", context)


@require_POST
def collection_locate(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_to_change(request.user, slug)
    ask_for_places(collection.pk)
    return redirect("corpora:collection-places", slug)
