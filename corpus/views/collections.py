"""Managers' pages: the collections and what is in them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from corpus import selectors
from corpus.forms import CollectionForm
from corpus.permissions import check_manager, collection_for
from corpus.services.collections import create_collection
from people.requests import user_of

PICTURES_PER_PAGE = 60
COLLECTIONS_PER_PAGE = 50
NEWEST_IMPORTS = 5


@require_safe
@login_required
def collection_list(request: HttpRequest) -> HttpResponse:
    check_manager(request.user)
    page = Paginator(selectors.collections(), COLLECTIONS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "corpus/collections.html", {"page": page})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def collection_create(request: HttpRequest) -> HttpResponse:
    check_manager(request.user)
    form = CollectionForm(request.POST or None)
    if form.is_valid():
        collection = create_collection(**form.cleaned_data, by=user_of(request))
        return redirect("corpus:images-add", collection.slug)
    return render(request, "corpus/collection_create.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@login_required
def collection_show(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug)
    entries = collection.entries.select_related("image").order_by("position", "pk")
    page = Paginator(entries, PICTURES_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "collection": collection,
        "page": page,
        "shown": selectors.shown(page, user_of(request)),
        "imports": collection.imports.select_related("created_by")[:NEWEST_IMPORTS],
    }
    return render(request, "corpus/collection.html", context)
