"""Pages about single images of a collection, and the edit of many."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.images.forms import ChosenForm, ImageEditForm, ManyImagesEditForm
from core.images.models import Collection, CollectionImage, Image
from core.images.permissions import collection_for, collection_to_change, entry_of, may_change
from core.images.rules.attributions import FIELDS, LICENCE_URLS
from core.images.selectors.editing import planned_edit
from core.images.selectors.image_pages import image_page
from core.images.services import attributions
from core.people.requests import user_of


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
