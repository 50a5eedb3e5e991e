"""Captions of several models, side by side."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.people.permissions import check_reader
from core.people.requests import is_htmx, user_of
from research.inference.forms.gallery import GalleryForm
from research.inference.selectors.gallery import gallery_page


@require_safe
def gallery(request: HttpRequest) -> HttpResponse:
    """Show the whole page or, to its script, only the images that follow."""
    check_reader(request.user)
    form = GalleryForm(request.GET, by=user_of(request))
    if not form.is_valid():
        return render(request, "inference/gallery.html", {"form": form})
    asked = form.asked()
    where = {name: request.GET.get(name, "") for name in ("after", "before")}
    page = gallery_page(asked, user_of(request), **where)
    template = "inference/_gallery_more.html" if is_htmx(request) else "inference/gallery.html"
    return render(request, template, {"form": form, "asked": asked, "page": page, "is_more": is_htmx(request)})
