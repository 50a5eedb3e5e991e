"""The pages of an import: upload files, read the preview and answer what is asked, see what came in, and undo it."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Round
from core.images.models import ImportJob, ImportStage
from core.images.permissions import collections_for
from core.images.services.import_jobs import discard
from core.images.views.uploads import upload_limits, upload_page
from core.jobs.models import JobState
from core.languages.rules.groups import GROUPS
from core.people.models import Membership, Project
from core.people.permissions import READERS, check_reader, project_for
from core.people.requests import RefusalsShown, render_part, user_of
from office.imports.forms import UploadForm, WishForm
from office.imports.permissions import file_import_for, file_imports_of, may_undo
from office.imports.selectors import captions_by_language, is_undone, parts_of
from office.imports.services.file_imports import (
    PREVIEW,
    ImportRefusedError,
    answer,
    confirm,
    start_upload,
    waits_for_answers,
)
from office.imports.services.undoing import UndoRefusedError, ask_to_undo
from office.imports.tasks import ask_for_stage

SHOWN_IMPORTS = 20


@require_safe
def import_choose(request: HttpRequest) -> HttpResponse:
    """Lead to the import page of a project, that of a collection if one is asked for; the query goes along."""
    check_reader(request.user)
    mine = Membership.objects.filter(user=user_of(request), role__in=READERS, project__deletion=None)
    projects = Project.objects.filter(pk__in=mine.values("project"), archived_at=None).order_by("name")
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    of_collection = collections_for(request.user).filter(slug=request.GET.get("collection", "").replace("\0", ""))
    only = [*projects.filter(pk__in=of_collection.values("project"))] or [*projects[:2]]
    if len(only) == 1:
        return redirect(reverse("imports:import-create", args=[only[0].slug]) + query)
    return render(request, "imports/import_choose.html", {"projects": projects, "query": query})


@csrf_exempt  # checked by upload_page, once it is clear who sends and how much
@require_http_methods(["GET", "HEAD", "POST"])
def import_create(request: HttpRequest, slug: str) -> HttpResponse:
    project, by = project_for(request.user, slug, *READERS), user_of(request)
    initial: dict[str, Any] = {name: request.GET[name] for name in ("collection", "name") if name in request.GET}
    if group := GROUPS.get(request.GET.get("group", "")):
        initial["languages"] = group.tags
    context = {**upload_limits(), "project": project, "jobs": file_imports_of(by, project)[:SHOWN_IMPORTS]}
    context["groups"] = GROUPS

    def start(form: UploadForm) -> ImportJob:
        sent = form.cleaned_data
        job = start_upload(project=project, uploads=sent["images"], paths=sent["paths"], wish=form.wish(), by=by)
        ask_for_stage(job.pk)
        return job

    return upload_page(
        request,
        "imports/import_create.html",
        context,
        form=partial(UploadForm, project=project, by=by, initial=initial),
        start=start,
        page_of=_page_of,
    )


def _page_of(job: ImportJob) -> str:
    assert job.project is not None
    return reverse("imports:import-show", args=[job.project.slug, job.pk])


@require_http_methods(["GET", "HEAD", "POST"])
def import_show(request: HttpRequest, slug: str, job_id: int) -> HttpResponse:
    """Show what an import would do or did; take answers, and import where nothing is left to say."""
    job = file_import_for(request.user, slug, job_id)
    if not waits_for_answers(job):
        context = _context(job) | {"may_undo": may_undo(user_of(request), job)}
        return render(request, "imports/import_show.html", context)
    form = WishForm(request.POST if request.method == "POST" else None, job=job, by=user_of(request))
    if form.is_valid():
        with RefusalsShown(form, ImportRefusedError):
            if not answer(job=job, wish=form.wish()):
                confirm(job=job)
            ask_for_stage(job.pk)
            return redirect(_page_of(job))
    context = _context(job) | {"form": form, "has_own_rows": job.created_by == request.user}
    context["captions"] = captions_by_language(job.options.get(PREVIEW, []))
    return render(request, "imports/import_show.html", context, status=422 if form.errors else 200)


@require_safe
def import_progress(request: HttpRequest, slug: str, job_id: int) -> HttpResponse:
    job = file_import_for(request.user, slug, job_id)
    is_over = job.state in (JobState.DONE, JobState.FAILED)
    return render_part(request, "imports/_import_progress.html", _context(job), page=_page_of(job), is_over=is_over)


@require_POST
def import_undo(request: HttpRequest, slug: str, job_id: int) -> HttpResponse:
    job = file_import_for(request.user, slug, job_id)
    with RefusalsShown(request, UndoRefusedError):
        ask_to_undo(job=job, by=user_of(request), now=timezone.now())
        ask_for_stage(job.pk)
    return redirect(_page_of(job))


@require_POST
def import_discard(request: HttpRequest, slug: str, job_id: int) -> HttpResponse:
    job = file_import_for(request.user, slug, job_id)
    if not discard(job):
        messages.error(request, _("These files are being imported already."))
        return redirect(_page_of(job))
    return redirect("imports:import-create", slug)


def _context(job: ImportJob) -> dict[str, Any]:
    is_open = job.state in (JobState.QUEUED, JobState.RUNNING)
    has_languages = job.project is not None and Round.objects.filter(project=job.project).exists()
    context = {"job": job, "project": job.project, "parts": parts_of(job), "is_open": is_open}
    is_there = job.stage != ImportStage.PREVIEW and not is_open and not is_undone(job)
    return context | {"has_languages": has_languages, "is_there": is_there, "is_undone": is_undone(job)}
