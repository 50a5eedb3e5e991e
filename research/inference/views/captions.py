"""The pages of models' captions: the gallery, and switching one off."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from core.images.selectors import served_image
from core.people.permissions import check_reader
from core.people.requests import is_htmx, user_of, way_back
from research.inference.forms.captions import GalleryForm, SwitchOffForm
from research.inference.permissions import caption_to_switch
from research.inference.selectors.gallery import check_not_hidden, gallery_page
from research.inference.services.caption_switches import switch_off, switch_on


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


@require_http_methods(["GET", "HEAD", "POST"])
def caption_switch(request: HttpRequest, caption_id: int) -> HttpResponse:
    """Say what switching the caption off or on means, and do it: off for a reason."""
    caption = caption_to_switch(request.user, caption_id)
    check_not_hidden(user_of(request), caption.image_id)
    back = way_back(request, request.GET.get("back", ""), otherwise=reverse("inference:gallery"))
    is_off = caption.switched_off_at is not None
    by, now = user_of(request), timezone.now()
    form = SwitchOffForm(request.POST if request.method == "POST" and not is_off else None)
    if request.method == "POST" and is_off and "on" in request.POST:
        switch_on(caption_id=caption.pk, by=by, now=now)
        messages.success(request, _("The caption is in use again."))
        return redirect(back)
    if form.is_valid():
        switch_off(caption_id=caption.pk, reason=form.cleaned_data["reason"], by=by, now=now)
        messages.success(request, _("The caption is switched off."))
        return redirect(back)
    context = {"caption": caption, "image": served_image(caption.image, by), "form": form, "back": back}
    return render(request, "inference/caption_switch.html", context, status=422 if form.errors else 200)
