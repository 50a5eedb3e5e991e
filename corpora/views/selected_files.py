"""Managers' pages of the files of a selection that was made from candidates."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from corpora import tasks
from corpora.permissions import selection_for
from corpora.selectors.selected_files import COLUMNS, files_of, selected_rows
from corpora.services.fetching import FetchRefusedError, start_fetch
from people.models import Role
from people.requests import user_of
from tabular.downloads import in_pieces, table_lines


@require_safe
@login_required
def selected_files(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    selection = selection_for(request.user, slug, number)
    context = {"project": selection.project, "selection": selection, "files": files_of(selection)}
    return render(request, "corpora/selected_files.html", context)


@require_POST
@login_required
def selected_fetch(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    selection = selection_for(request.user, slug, number, Role.MANAGER)
    back = reverse("corpora:selected-files", args=[slug, number])
    try:
        job = start_fetch(selection=selection, back=back, by=user_of(request), clock=timezone.now)
    except FetchRefusedError as refused:
        messages.error(request, str(refused))
        return redirect(back)
    tasks.ask_for_fetch(job.pk)
    return redirect("images:import-show", job.pk)


@require_safe
@login_required
def selected_export(request: HttpRequest, slug: str, number: int) -> StreamingHttpResponse:
    selection = selection_for(request.user, slug, number)
    lines = table_lines(COLUMNS, selected_rows(selection), as_csv=True)
    response = StreamingHttpResponse(in_pieces(lines), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slug}-selection-{number}.csv"'
    return response
