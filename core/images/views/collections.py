"""Pages about collections and their images, the edit of many, and the images themselves."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.images import selectors
from core.images.forms import ChosenForm, CollectionForm, FindForm, ImageEditForm, ManyImagesEditForm
from core.images.models import Collection, CollectionImage, Image
from core.images.permissions import (
    check_manager,
    collection_for,
    collection_to_change,
    collections_for,
    entry_of,
    imports_for,
    may_change,
)
from core.images.rules.attributions import FIELDS, LICENCE_URLS
from core.images.selectors.attributions import missing_in, planned_edit
from core.images.selectors.filters import entries_page
from core.images.selectors.image_pages import image_page
from core.images.services import attributions, file_storage
from core.images.services.collections import create_collection, give_collection
from core.people.api.authentication import viewer_of
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
        return redirect(f"{reverse('imports:import-choose')}?collection={collection.slug}")
    return render(request, "images/collection_create.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
def collection_show(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug)
    form = FindForm(request.GET, collection=collection, by=user_of(request))
    page = entries_page(form.found(), number=request.GET.get("page"), per_page=IMAGES_PER_PAGE)
    size = collection.entries.count() if form.errors or form.asked else page.paginator.count
    context = {
        "collection": collection,
        "form": form,
        "page": page,
        "size": size,
        "shown": list(page),
        "missing": missing_in(collection),
        "imports": imports_for(request.user).filter(collection=collection)[:NEWEST_IMPORTS],
        "may_change": may_change(request.user, collection),
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


@require_safe
def collection_image_show(request: HttpRequest, slug: str, public_id: UUID) -> HttpResponse:
    entry = entry_of(collection_for(request.user, slug), public_id)
    return _image_page(request, entry)


@require_POST
def collection_image_edit(request: HttpRequest, slug: str, public_id: UUID) -> HttpResponse:
    entry = entry_of(collection_to_change(request.user, slug), public_id)
    form = ImageEditForm(request.POST)
    if form.is_valid():
        about = {"values": form.values(), "seen": form.cleaned_data["seen"]}
        try:
            changed = attributions.edit_image(entry=entry, by=user_of(request), now=timezone.now(), **about)
        except attributions.AttributionChangedError:
            entry.image.refresh_from_db()
            return _image_page(request, entry, form.again(entry.image, attributions.newest_change(entry.image_id)), 409)
        except attributions.AttributionRefusedError:
            form.refuse_replacing()
        else:
            messages.success(request, _("Saved.") if changed else _("Nothing was changed."))
            return redirect("images:collection-image-show", slug, public_id)
    return _image_page(request, entry, form, 422)


def _image_page(
    request: HttpRequest, entry: CollectionImage, form: ImageEditForm | None = None, status: int = 200
) -> HttpResponse:
    page = image_page(entry, user_of(request))
    stored = {name: getattr(entry.image, name) for name in FIELDS}
    context = {
        "page": page,
        "entry": entry,
        "collection": entry.collection,
        "form": form or ImageEditForm(initial={**stored, "seen": page["newest_change"]}),
        "may_change": may_change(request.user, entry.collection),
        "licences": LICENCE_URLS,
    }
    return render(request, "images/image.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def images_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask what to change of the images that the address names, say what would happen, and do it once confirmed."""
    collection = collection_to_change(request.user, slug)
    chosen = ChosenForm(request.GET, collection=collection, by=user_of(request))
    entries = chosen.found()
    if not entries.exists():
        messages.error(request, _("Choose at least one image."))
        return redirect(chosen.back)
    form = ManyImagesEditForm(request.POST or None)
    context = {"collection": collection, "form": form, "back": chosen.back, "licences": LICENCE_URLS}
    if not form.is_valid() or "again" in request.POST:
        context["number"] = entries.count()
        return render(request, "images/images_edit.html", context, status=422 if form.errors else 200)
    return _confirmed(request, collection, entries, form, context)


def _confirmed(
    request: HttpRequest,
    collection: Collection,
    entries: QuerySet[CollectionImage],
    form: ManyImagesEditForm,
    context: dict[str, object],
) -> HttpResponse:
    images, edit, by = Image.objects.filter(pk__in=entries.values("image")), form.edit(), user_of(request)
    status = 200
    if confirmed := form.cleaned_data["confirmed"]:
        try:
            changed = attributions.edit_images(
                collection=collection, images=images, edit=edit, confirmed=confirmed, by=by, clock=timezone.now
            )
        except attributions.EditOutdatedError:
            status = 409
        else:
            said = ngettext("%(number)d image was changed.", "%(number)d images were changed.", changed)
            messages.success(request, said % {"number": changed})
            return redirect(str(context["back"]))
    counts = planned_edit(images, edit, by=by).counts()
    context |= {"counts": counts, "new_values": form.new_values(), "is_outdated": status == 409}
    return render(request, "images/images_edit_confirm.html", context, status=status)


RETRY_AFTER_S = 5


@require_safe
@login_not_required
def image_show(request: HttpRequest, public_id: UUID, size: int, signature: str) -> HttpResponse:
    """Serve one size of an image to the viewer whom its address was made for; 404 for anybody else."""
    if not selectors.is_address_of(public_id=public_id, size=size, signature=signature, viewer=viewer_of(request)):
        raise Http404
    content = file_storage.read_size(public_id, size)
    if content is None:
        if not Image.objects.filter(public_id=public_id).exists():
            raise Http404
        return HttpResponse(status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
    response = HttpResponse(content, content_type="image/webp")
    response["Cache-Control"] = "private, max-age=86400, immutable"
    response["X-Content-Type-Options"] = "nosniff"
    return response
