"""The page Export: choose what, how and which part; with that in its address, it is the file."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from core.people.permissions import READERS, project_for
from core.people.requests import RefusalsShown, as_download, user_of
from gapgame.formats.turn_files import SeasonNotClosedError
from office.exports.forms import ExportForm
from office.exports.selectors.tables import ExportError
from office.exports.services.exports import export_for
from research.selection.rules.image_filters import ImageFilterError


@require_safe
def export_show(request: HttpRequest, slug: str) -> HttpResponseBase:
    project, by = project_for(request.user, slug, *READERS), user_of(request)
    form = ExportForm(request.GET, project=project, by=by, is_sent="format" in request.GET)
    if form.is_valid():
        if form.is_of_new_release:
            return redirect("annotation:release-create", slug)
        with RefusalsShown(form, ExportError, ImageFilterError, SeasonNotClosedError):
            file = export_for(form.wish(until=timezone.now()), by=by, is_recorded=request.method == "GET")
            return as_download(StreamingHttpResponse(file.pieces, content_type=file.content_type), file.name)

    status = 422 if form.is_bound else 200
    return render(request, "exports/export.html", {"project": project, "form": form}, status=status)
