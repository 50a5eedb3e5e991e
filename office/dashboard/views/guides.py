"""The guides."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from office.dashboard.selectors.guides import guide_page, titles


@require_safe
@login_not_required
def guide_show(request: HttpRequest, name: str) -> HttpResponse:
    guide = guide_page(name)
    if guide is None:
        raise Http404(_("There is no guide of this name."))
    return render(request, "dashboard/guide.html", {"guide": guide, "name": name, "titles": titles()})
