"""A collection as a whole: its name, a copy of it, its deletion."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.images.models import CollectionImage
from core.images.permissions import collection_to_change, entry_of
from core.images.services import collections as services
from core.images.services.collections import CollectionUsedError
from core.people.requests import user_of
from office.dashboard.forms import CollectionNameForm, LeaveOutForm
from office.dashboard.selectors.project_contents import uses_of, uses_of_image
from office.dashboard.services.collection_images import count_image_again, leave_out_image, take_out_image
from research.inference.services.runs import delete_trials_of


@require_http_methods(["GET", "HEAD", "POST"])
def collection_settings(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_to_change(request.user, slug)
    now_named = {"name": collection.name, "description": collection.description}
    form = CollectionNameForm(request.POST or None, initial=now_named, collection=collection, by=user_of(request))
    if not form.is_valid():
        context = {"collection": collection, "form": form}
        return render(request, "dashboard/collection_settings.html", context, status=422 if form.is_bound else 200)
    services.rename_collection(collection=collection, by=user_of(request), now=timezone.now(), **form.cleaned_data)
    messages.success(request, _("Saved."))
    return redirect("images:collection-show", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def collection_duplicate(request: HttpRequest, slug: str) -> HttpResponse:
    collection, by = collection_to_change(request.user, slug), user_of(request)
    name = {"name": _("Copy of %(name)s") % {"name": collection.name}}
    form = CollectionNameForm(request.POST or None, initial=name, collection=collection, by=by, is_copy=True)
    if not form.is_valid():
        context = {"collection": collection, "form": form}
        return render(request, "dashboard/collection_duplicate.html", context, status=422 if form.is_bound else 200)
    made = services.duplicate_collection(
        collection=collection, name=form.cleaned_data["name"], by=by, now=timezone.now()
    )
    messages.success(request, _("The collection was made."))
    return redirect("images:collection-show", made.slug)


@require_http_methods(["GET", "HEAD", "POST"])
def collection_delete(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_to_change(request.user, slug)
    if request.method != "POST":
        context = {"collection": collection, "uses": uses_of(collection, user_of(request))}
        context["images"] = collection.entries.count()
        return render(request, "dashboard/collection_delete.html", context)
    try:
        delete_trials_of(collection)
        services.delete_collection(collection=collection, by=user_of(request), now=timezone.now())
    except CollectionUsedError as refused:
        messages.error(request, str(refused))
        return redirect("dashboard:collection-delete", slug)
    messages.success(request, _("%(name)s was deleted.") % {"name": collection.name})
    return redirect("images:collection-list")


@require_http_methods(["GET", "HEAD", "POST"])
def image_take_out(request: HttpRequest, slug: str, public_id: UUID) -> HttpResponse:
    """Take an image out of its collection, leave it out of results, or count it again."""
    collection = collection_to_change(request.user, slug)
    entry, form = entry_of(collection, public_id), LeaveOutForm(request.POST if "leave-out" in request.POST else None)
    if request.method != "POST" or (form.is_bound and not form.is_valid()):
        context = {"collection": collection, "entry": entry, "uses": uses_of_image(entry), "form": form}
        return render(request, "dashboard/image_take_out.html", context, status=422 if form.is_bound else 200)
    who: dict[str, Any] = {"by": user_of(request), "now": timezone.now()}
    if form.is_bound:
        leave_out_image(entry=entry, reason=form.cleaned_data["reason"], **who)
        messages.success(request, _("%(name)s is left out of results.") % {"name": entry.key})
        return redirect("images:collection-image-show", slug, public_id)
    if "count" in request.POST:
        count_image_again(entry=entry, **who)
        messages.success(request, _("%(name)s counts in results again.") % {"name": entry.key})
        return redirect("images:collection-image-show", slug, public_id)
    return _taken_out(request, entry, who)


def _taken_out(request: HttpRequest, entry: CollectionImage, who: dict[str, Any]) -> HttpResponse:
    slug = entry.collection.slug
    try:
        take_out_image(entry=entry, **who)
    except CollectionUsedError as refused:
        messages.error(request, str(refused))
        return redirect("dashboard:image-take-out", slug, entry.image.public_id)
    messages.success(request, _("%(name)s was taken out of the collection.") % {"name": entry.key})
    return redirect("images:collection-show", slug)
