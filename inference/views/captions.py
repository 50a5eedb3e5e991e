"""Managers' page for importing what a model said."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from images.permissions import check_manager
from images.views.imports import UploadTooLargeError, receive
from inference.forms.captions import CaptionsForm
from inference.services.imports import start_upload
from inference.tasks import ask_for_caption_import
from people.requests import user_of


@csrf_exempt  # checked below, once it is clear who sends and how much
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def captions_import(request: HttpRequest) -> HttpResponse:
    check_manager(request.user)
    if request.method != "POST":
        return _form_page(request, _form(request, initial={"collection": request.GET.get("collection")}))
    try:
        receive(request)
    except UploadTooLargeError as error:
        return _form_page(request, _form(request), status=413, error=str(error))
    return _captions_import(request)


@csrf_protect
def _captions_import(request: HttpRequest) -> HttpResponse:
    form = _form(request, request.POST, request.FILES)
    if not form.is_valid():
        return _form_page(request, form, status=422)
    cleaned = form.cleaned_data
    options = {name: cleaned[name] for name in ("model", "language", "collection", "project", "is_shared")}
    job = start_upload(**options, upload=cleaned["file"], by=user_of(request))
    ask_for_caption_import(job.pk)
    return redirect("images:import-show", job.pk)


def _form(request: HttpRequest, *sent: Any, **more: Any) -> CaptionsForm:
    return CaptionsForm(*sent, by=user_of(request), **more)


def _form_page(request: HttpRequest, form: CaptionsForm, **extra: Any) -> HttpResponse:
    status = extra.pop("status", 200)
    return render(request, "inference/captions_import.html", {"form": form, **extra}, status=status)
