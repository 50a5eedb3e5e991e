"""Pages about collections and their images."""

from __future__ import annotations

from functools import partial

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from core.images import selectors
from core.images.forms import CollectionForm, FindForm
from core.images.permissions import (
    check_manager,
    collection_for,
    collection_to_change,
    collections_for,
    imports_for,
    may_change,
)
from core.images.selectors.attributions import missing_in
from core.images.selectors.filters import entries_page
from core.images.services.collections import create_collection, give_collection
from core.images.views.imports import upload_limits
from core.people.requests import user_of
from core.people.views.ownership import owner_page

IMAGES_PER_PAGE = 60
COLLECTIONS_PER_PAGE = 50
NEWEST_IMPORTS = 5


@require_safe
def collection_list(request: HttpRequest) -> HttpResponse:
    collections = selectors.with_sizes(collections_for(request.user))
    page = Paginator(collections, COLLECTIONS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "images/collections.html", {"page": page})


@require_http_methods(["GET", "HEAD", "POST"])
def collection_create(request: HttpRequest) -> HttpResponse:
    check_manager(request.user)
    form = CollectionForm(request.POST or None, by=user_of(request), initial=request.GET.dict())
    if form.is_valid():
        collection = create_collection(**form.cleaned_data, by=user_of(request))
        return redirect("images:images-add", collection.slug)
    return render(request, "images/collection_create.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
def collection_show(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug)
    form = FindForm(request.GET, collection=collection, by=user_of(request))
    page = entries_page(form.found(), number=request.GET.get("page"), per_page=IMAGES_PER_PAGE)
    changes = may_change(request.user, collection)
    size = collection.entries.count() if form.errors or form.asked else page.paginator.count
    context = {
        "collection": collection,
        "form": form,
        "page": page,
        "size": size,
        "shown": list(page),
        "missing": missing_in(collection),
        "imports": imports_for(request.user).filter(collection=collection)[:NEWEST_IMPORTS],
        "may_change": changes,
        **(upload_limits() if changes else {}),
    }
    return render(request, "images/collection.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def collection_owner(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_to_change(request.user, slug)
    return owner_page(
        request,
        thing=collection,
        give=partial(give_collection, collection=collection),
        back=reverse("images:collection-show", args=[slug]),
        context={"name": collection.name, "breadcrumb": "images/_breadcrumb.html", "collection": collection},
    )
