"""Managers' pages of where images were taken and languages are spoken: the table, a change with a preview, versions."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.images.permissions import collection_for, collection_to_change, may_change
from core.languages.models import Language
from core.people.models import Project, Role
from core.people.permissions import READERS, project_for
from core.people.requests import as_download, user_of
from research.selection.forms.tables import LanguageAreasForm, ReplaceForm, TableFileForm
from research.selection.pages import places as pages
from research.selection.rules.tables import Areas, AreasTable, as_stored, shipped_table
from research.selection.selectors.image_places import place_summary, placed_entries, placed_images
from research.selection.selectors.tables import table_of, versions_of
from research.selection.services.tables import TableChangedError, replace_table
from research.selection.tasks import ask_for_places


@require_safe
def table_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, *READERS)
    return _show(request, project, TableFileForm())


@require_POST
def table_upload(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = TableFileForm(request.POST, request.FILES)
    return _preview(request, project, form.table) if form.is_valid() else _show(request, project, form)


@require_POST
def table_reset(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    return _preview(request, project, shipped_table())


@require_http_methods(["GET", "HEAD", "POST"])
def areas_edit(request: HttpRequest, slug: str, tag: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    language, before = get_object_or_404(Language, pk=tag), table_of(project)
    form = LanguageAreasForm(request.POST or None, tag=tag, before=before)
    if form.is_valid():
        return _preview(request, project, form.table)
    context = {"project": project, "language": language, "form": form}
    context["map"] = pages.map_of(language, before.areas.get(tag, Areas()))
    return render(request, "corpora/areas_edit.html", context, status=422 if form.is_bound else 200)


@require_POST
def table_replace(request: HttpRequest, slug: str) -> HttpResponse:
    project, form = project_for(user_of(request), slug, Role.MANAGER), ReplaceForm(request.POST)
    if not form.is_valid():
        return _preview(request, project, getattr(form, "table", table_of(project)), form)
    note, expected = form.cleaned_data["note"], form.cleaned_data["expected"]
    about = {"project": project, "table": form.table, "note": note, "expected": expected}
    try:
        made = replace_table(**about, by=user_of(request), now=timezone.now())
    except TableChangedError:
        return _preview_anew(request, project, form)
    messages.success(request, _("The table is replaced.") if made else _("Nothing has changed."))
    return redirect("corpora:table-show", slug)


@require_safe
def table_export(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, *READERS)
    return _file(pages.as_text(table_of(project)), f"{project.slug}-languages.json")


@require_safe
def version_export(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    project = project_for(user_of(request), slug, *READERS)
    version = get_object_or_404(versions_of(project), number=number)
    return _file(pages.as_text(as_stored(version.areas)), f"{project.slug}-languages-{number}.json")


def _show(request: HttpRequest, project: Project, form: TableFileForm) -> HttpResponse:
    table = table_of(project)
    rows = pages.rows_of(table)
    language = Language.objects.filter(pk=request.GET.get("language") or "").first() or (rows and rows[0]["language"])
    context = {"project": project, "rows": rows, "form": form, "versions": versions_of(project), "language": language}
    context["languages"] = [(row["language"].pk, row["language"].name) for row in rows]
    context |= {"table": table, "is_shipped": table.version == shipped_table().version}
    context["map"] = pages.map_of(language, table.areas.get(language.pk, Areas())) if language else None
    return render(request, "corpora/table.html", context, status=422 if form.is_bound else 200)


def _preview(
    request: HttpRequest, project: Project, table: AreasTable, sent: ReplaceForm | None = None
) -> HttpResponse:
    before = table_of(project)
    form = sent or ReplaceForm(initial={"areas": pages.as_text(table), "expected": before.version})
    context = {"project": project, "changes": pages.change_rows(before, table), "form": form}
    return render(request, "corpora/table_preview.html", context, status=422 if sent else 200)


def _preview_anew(request: HttpRequest, project: Project, form: ReplaceForm) -> HttpResponse:
    """Show what the same table would change now that somebody else replaced the one it was based on."""
    before = table_of(project)
    form.data = dict(form.data.items()) | {"expected": before.version}
    said = _("Somebody else changed the table meanwhile. This is what your table would change now:")
    form.add_error(None, f"{said} {_('Check that it does not take back their change.')}")
    context = {"project": project, "changes": pages.change_rows(before, form.table), "form": form}
    return render(request, "corpora/table_preview.html", context, status=409)


def _file(text: str, name: str) -> HttpResponse:
    return as_download(HttpResponse(text, content_type="application/json"), name)


IMAGES_PER_PAGE = 100


@require_safe
def collection_places(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug)
    only_problems = request.GET.get("show") == "problems"
    entries = placed_entries(collection, only_problems=only_problems)
    page = Paginator(entries, IMAGES_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "collection": collection,
        "summary": place_summary(collection),
        "page": page,
        "images": placed_images(page),
        "only_problems": only_problems,
        "may_change": may_change(request.user, collection),
    }
    return render(request, "corpora/collection_places.html", context)


@require_POST
def collection_locate(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_to_change(request.user, slug)
    ask_for_places(collection.pk)
    return redirect("corpora:collection-places", slug)
