"""The page to give something to another project or share it. Each app has an address for its own things."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from core.people.forms.owners import ChangeOwnerForm
from core.people.models import Owned
from core.people.requests import RefusalsShown, user_of, way_back
from core.people.services.ownership import OwnerRefusedError


def owner_page(
    request: HttpRequest, *, thing: Owned, give: Callable[..., None], back: str, context: Mapping[str, Any]
) -> HttpResponse:
    """Change the owner of `thing` with `give`, and return to the page that `next` asks for, or to `back`.

    `context` has its `name`, its `breadcrumb` (a template, with what that needs) and perhaps a `note`.
    """
    by, asked = user_of(request), request.POST.get("next", "") or request.GET.get("next", "")
    form = ChangeOwnerForm(request.POST or None, thing=thing, by=by)
    if form.is_valid():
        with RefusalsShown(form, OwnerRefusedError):
            give(**form.cleaned_data, by=by, now=timezone.now())
            messages.success(request, _("Saved."))
            return redirect(way_back(request, asked, otherwise=back))
    context = {**context, "form": form, "back": way_back(request, asked, otherwise=back), "next": asked}
    return render(request, "people/owner.html", context, status=422 if form.is_bound else 200)
