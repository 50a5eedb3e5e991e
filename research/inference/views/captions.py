"""The page for importing a model's captions."""

from __future__ import annotations

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from core.images.models import ImportJob
from core.images.views.uploads import upload_page
from core.people.forms.owners import OWNER_FIELDS
from core.people.permissions import check_reader
from core.people.requests import user_of
from research.inference.forms.captions import CaptionsForm
from research.inference.services.imports import start_upload
from research.inference.tasks import ask_for_caption_import


@csrf_exempt  # checked by upload_page, once it is clear who sends and how much
@require_http_methods(["GET", "HEAD", "POST"])
def captions_import(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    by = user_of(request)
    asked = {name: request.GET[name] for name in ("collection", "project") if name in request.GET}
    form = partial(CaptionsForm, by=by, initial=asked)

    def start(sent: CaptionsForm) -> ImportJob:
        options = {name: sent.cleaned_data[name] for name in ("model", "language", "collection", *OWNER_FIELDS)}
        job = start_upload(**options, upload=sent.cleaned_data["file"], by=by)
        ask_for_caption_import(job.pk)
        return job

    return upload_page(request, "inference/captions_import.html", {}, form=form, start=start)
