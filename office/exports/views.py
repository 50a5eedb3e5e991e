"""The page Export: choose what, how and which part; with that in its address, it is the file."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from core.people.permissions import READERS, project_for
from core.people.requests import RefusalsShown, as_download, user_of
from gapgame.formats.turn_files import SeasonNotClosedError
from office.exports.forms import ExportForm
from office.exports.selectors.tables import ExportError
from office.exports.services.exports import content_type_of, export_for, file_name
from research.selection.pages.image_filters import asked_images
from research.selection.rules.image_filters import ImageFilterError


@require_safe
def export_show(request: HttpRequest, slug: str) -> HttpResponseBase:
    project, by, until = project_for(request.user, slug, *READERS), user_of(request), timezone.now()
    images = asked_images(request.GET, project, collections=project.rounds.values("collection"))
    form = ExportForm(request.GET if "format" in request.GET else None, project=project, by=by, images=images)
    if form.is_valid():
        wish, layout = form.wish(until=until), form.cleaned_data["format"]
        with RefusalsShown(form, ExportError, ImageFilterError, SeasonNotClosedError):
            pieces = export_for(wish, layout, by=by, is_recorded=request.method == "GET")
            response = StreamingHttpResponse(pieces, content_type=content_type_of(layout))
            return as_download(response, file_name(wish, layout))

    form.initial = {name: request.GET[name] for name in ("what",) if name in request.GET}
    status = 422 if form.is_bound else 200
    return render(request, "exports/export.html", {"project": project, "form": form}, status=status)
