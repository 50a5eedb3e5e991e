"""Pages of the files of a selection that was made from candidates."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.people.requests import as_download
from research.selection.permissions import selection_for
from research.selection.selectors import selected_files as files
from tabular.downloads import in_pieces, table_lines

ARIA2C = "aria2c"


@require_safe
def selected_files(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    selection = selection_for(request.user, slug, number)
    context = {"project": selection.project, "selection": selection, "files": files.selected_files(selection)}
    return render(request, "corpora/selected_files.html", context)


@require_safe
def selected_export(request: HttpRequest, slug: str, number: int) -> StreamingHttpResponse:
    selection = selection_for(request.user, slug, number)
    if request.GET.get("for") == ARIA2C:
        lines, kind, suffix = files.aria2_lines(selection), "text/plain", "txt"
    else:
        lines = table_lines(files.COLUMNS, files.missing_rows(selection), as_csv=True)
        kind, suffix = "text/csv", "csv"
    response = StreamingHttpResponse(in_pieces(lines), content_type=f"{kind}; charset=utf-8")
    return as_download(response, f"{slug}-selection-{number}.{suffix}")
