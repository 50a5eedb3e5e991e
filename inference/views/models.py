"""Models: the list of them, what each is and has made, and registering new ones."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from inference.pages.models import model_lines, model_page
from inference.permissions import check_researcher, model_for
from inference.selectors.models import model_details, model_rows, models_named
from people.permissions import manages_anything

MODELS_PER_PAGE = 50


@require_safe
@login_required
def model_list(request: HttpRequest) -> HttpResponse:
    check_researcher(request.user)
    asked = request.GET.get("q", "").strip()
    page = Paginator(models_named(asked), MODELS_PER_PAGE).get_page(request.GET.get("page"))
    lines = model_lines(model_rows(list(page)))
    context = {"page": page, "lines": lines, "asked": asked, "imports": manages_anything(request.user)}
    return render(request, "inference/models.html", context)


@require_safe
@login_required
def model_show(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_for(request.user, model_id)
    context = {"model": model, "page": model_page(model_details(model)), "imports": manages_anything(request.user)}
    return render(request, "inference/model.html", context)


def model_create(request: HttpRequest) -> HttpResponse:
    raise Http404


def translator_create(request: HttpRequest) -> HttpResponse:
    raise Http404
