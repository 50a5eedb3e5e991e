"""Pages of named subsets: list, make, look at, rename, delete and download them."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people.models import Role
from core.people.permissions import READERS, has_role, project_for
from core.people.requests import RefusalsShown, csv_download, user_of
from research.selection.forms.subsets import NamesForm, SubsetForm
from research.selection.models import Subset
from research.selection.permissions import subset_for
from research.selection.selectors.subsets import keys_by_image, keys_of, rows_of, subsets_of
from research.selection.services import subsets as services
from tabular.downloads import csv_lines, in_pieces

SUBSETS_PER_PAGE = 50
IMAGES_PER_PAGE = 60
COLUMNS = ("key",)


@require_safe
def subset_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    page = Paginator(subsets_of(project), SUBSETS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"project": project, "page": page, "rows": rows_of(project, page)}
    context["decides"] = has_role(request.user, project, Role.MANAGER)
    return render(request, "corpora/subsets.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def subset_create(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    form = SubsetForm(request.POST or None, request.FILES or None, project=project, initial=request.GET.dict())
    if form.is_valid():
        about = {name: form.cleaned_data[name] for name in ("slug", "name", "description")}
        by, now = user_of(request), timezone.now()
        try:
            made = services.make_subset(project=project, images=form.images, by=by, now=now, **about)
        except services.SubsetError as refused:
            form.add_error(None, refused.problems)
        else:
            messages.success(request, _("The subset was created."))
            return redirect("corpora:subset-show", slug, made.slug)
    context = {"project": project, "form": form}
    return render(request, "corpora/subset_create.html", context, status=422 if form.errors else 200)


@require_safe
def subset_show(request: HttpRequest, slug: str, subset_slug: str) -> HttpResponse:
    return _show(request, subset_for(request.user, slug, subset_slug))


@require_POST
def subset_rename(request: HttpRequest, slug: str, subset_slug: str) -> HttpResponse:
    subset = subset_for(request.user, slug, subset_slug, Role.MANAGER)
    form = NamesForm(request.POST)
    if not form.is_valid():
        return _show(request, subset, form)
    services.rename_subset(subset=subset, by=user_of(request), now=timezone.now(), **form.cleaned_data)
    messages.success(request, _("The new name is saved."))
    return redirect("corpora:subset-show", slug, subset_slug)


@require_POST
def subset_delete(request: HttpRequest, slug: str, subset_slug: str) -> HttpResponse:
    subset = subset_for(request.user, slug, subset_slug, Role.MANAGER)
    with RefusalsShown(request, services.SubsetError):
        services.delete_subset(subset=subset, by=user_of(request), now=timezone.now())
        messages.success(request, _("The subset was deleted. Its images stay."))
        return redirect("corpora:subset-list", slug)
    return redirect("corpora:subset-show", slug, subset_slug)


@require_safe
def subset_export(request: HttpRequest, slug: str, subset_slug: str) -> StreamingHttpResponse:
    subset = subset_for(request.user, slug, subset_slug)
    lines = csv_lines(COLUMNS, ([key] for key in keys_of(subset)))
    return csv_download(in_pieces(lines), f"{slug}-{subset_slug}.csv")


def _show(request: HttpRequest, subset: Subset, form: NamesForm | None = None) -> HttpResponse:
    project = subset.project
    page = Paginator(subset.images.order_by("pk"), IMAGES_PER_PAGE).get_page(request.GET.get("page"))
    [row] = rows_of(project, [subset])
    context = {"project": project, "subset": subset, "row": row, "page": page}
    keys = keys_by_image(project, [image.pk for image in page])
    context["images"] = [(image, keys.get(image.pk, "")) for image in page]
    context["decides"] = has_role(request.user, project, Role.MANAGER)
    context["form"] = form or NamesForm(initial={"name": subset.name, "description": subset.description})
    return render(request, "corpora/subset.html", context, status=422 if form else 200)
