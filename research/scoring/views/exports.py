"""Downloads of scores."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.people.permissions import READERS, project_for
from core.people.requests import as_download, user_of
from research.scoring.formats.scores import ScoreLayout, export_scores, file_name
from research.scoring.models import ReferenceSet
from research.scoring.permissions import has_assigned_images
from research.scoring.views.images import images_are_closed
from research.selection.pages.image_filters import asked_images, with_reason
from research.selection.rules.image_filters import ImageFilterError


@require_safe
def score_export(request: HttpRequest, slug: str, layout: str) -> HttpResponseBase:
    project = project_for(request.user, slug, *READERS)
    if layout not in ScoreLayout.values:
        known = ", ".join(ScoreLayout.values)
        raise Http404(_("There is no such format. Available formats: %(known)s.") % {"known": known})
    wanted = ScoreLayout(layout)
    sets = ReferenceSet.objects.filter(project=project)
    if wanted.has_images and has_assigned_images(user_of(request), sets):
        messages.error(request, images_are_closed())
        return redirect("scoring:score-list", slug)
    images = asked_images(request.GET, project)
    try:
        content = export_scores(project, wanted, images.filter)
    except ImageFilterError as refused:
        images = with_reason(images, refused)
    if images.error:
        messages.error(request, images.error)
        return redirect("scoring:score-list", slug)
    response = StreamingHttpResponse(content, content_type=wanted.content_type)
    return as_download(response, file_name(project, wanted, timezone.now(), images.filter))
