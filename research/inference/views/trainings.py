"""List and watch trainings. What they are made from chooses where they begin: references, in `scoring`."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.people.permissions import check_reader
from core.people.requests import render_part, user_of
from research.inference.pages.trainings import training_page
from research.inference.permissions import may_steer, training_for
from research.inference.selectors.trainings import training_details, trainings

TRAININGS_PER_PAGE = 50


@require_safe
def training_list(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    page = Paginator(trainings(user_of(request)), TRAININGS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "inference/trainings.html", {"page": page})


@require_safe
def training_show(request: HttpRequest, training_id: int) -> HttpResponse:
    training = training_for(request.user, training_id)
    details = training_details(training, user_of(request), now=timezone.now())
    context = {"training": training, "details": details, "page": training_page(training, details)}
    context["may_steer"] = may_steer(request.user, training)
    return render(request, "inference/training.html", context)


@require_safe
def training_progress(request: HttpRequest, training_id: int) -> HttpResponse:
    """Show the part that refreshes itself; at the end the whole page is reloaded."""
    training = training_for(request.user, training_id)
    details = training_details(training, user_of(request), now=timezone.now())
    context = {"training": training, "details": details, "page": training_page(training, details)}
    page = reverse("inference:training-show", args=[training.pk])
    is_over = not training.is_going
    return render_part(request, "inference/_training_progress.html", context, page=page, is_over=is_over)


@require_safe
def training_card(request: HttpRequest, training_id: int) -> HttpResponse:
    """Download the model card."""
    training = training_for(request.user, training_id)
    if not training.card:
        raise Http404(_("There is no such page."))
    name = f"{slugify(training.name) or 'model'}-card.md"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(training.card, content_type="text/markdown; charset=utf-8", headers=headers)
