"""Managers' pages of the files that a corpus is made from."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST

from corpora.forms.corpora import AboutForm, FilesForm
from corpora.models import CorpusBuild
from corpora.permissions import corpus_for
from corpora.selectors.corpus_folders import fetched
from corpora.services.corpus_builds import CorpusRefusedError
from corpora.services.corpus_files import add_file, change_file, remove_file
from images.views.uploads import UploadTooLargeError, receive
from people.models import Role
from people.requests import user_of


@csrf_exempt  # checked below, once it is clear who sends and how much
@require_POST
@login_required
def corpus_upload(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    try:
        receive(request)
    except UploadTooLargeError as error:
        messages.error(request, str(error))
        return redirect("corpora:corpus-show", slug, corpus_slug)
    return _added(request, build)


@csrf_protect
def _added(request: HttpRequest, build: CorpusBuild) -> HttpResponse:
    """Add each file that is sound, and say what is wrong with every other."""
    form, added = FilesForm(request.POST, request.FILES), 0
    if not form.is_valid():
        messages.error(request, _("Choose at least one file, and what it is."))
        return redirect("corpora:corpus-show", build.project.slug, build.slug)
    for upload in cast("list[TemporaryUploadedFile]", form.cleaned_data["uploads"]):
        path, who = Path(upload.temporary_file_path()), user_of(request)
        try:
            add_file(build=build, path=path, name=upload.name or "", about=form.about, by=who, now=timezone.now())
            added += 1
        except CorpusRefusedError as refused:
            messages.error(request, str(refused))
    if added:
        text = ngettext("%(count)s file was added.", "%(count)s files were added.", added)
        messages.success(request, text % {"count": added})
    return redirect("corpora:corpus-show", build.project.slug, build.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def corpus_file_edit(request: HttpRequest, slug: str, corpus_slug: str, file_id: int) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    file = get_object_or_404(build.files, pk=file_id)
    form = AboutForm(request.POST or None, initial=AboutForm.initial_of(file))
    if form.is_valid():
        try:
            path = fetched(file.stored)
            change_file(file=file, path=path, about=form.about, by=user_of(request), now=timezone.now())
        except CorpusRefusedError as refused:
            form.add_error(None, str(refused))
        else:
            return redirect("corpora:corpus-show", slug, corpus_slug)
    context = {"project": build.project, "build": build, "file": file, "form": form}
    return render(request, "corpora/corpus_file.html", context, status=422 if form.errors else 200)


@require_POST
@login_required
def corpus_file_delete(request: HttpRequest, slug: str, corpus_slug: str, file_id: int) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    file = get_object_or_404(build.files, pk=file_id)
    remove_file(file=file, by=user_of(request), now=timezone.now())
    messages.success(request, _("“%(file)s” was deleted.") % {"file": file.name})
    return redirect("corpora:corpus-show", slug, corpus_slug)
