"""Pages about uploading images, the progress of an import, and its report."""

from __future__ import annotations

import csv
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from core.images import selectors
from core.images.forms import ImagesForm
from core.images.models import ImportJob, ImportOutcome
from core.images.permissions import collection_for, collection_to_change, import_for, imports_for
from core.images.rules import limits
from core.images.services.imports import start_upload
from core.images.tasks import ask_for_import
from core.images.views.uploads import upload_page
from core.people.requests import csv_download, user_of

ROWS_PER_PAGE = 100
IMPORTS_PER_PAGE = 50


def upload_limits() -> dict[str, Any]:
    """Return the form for files, and the limits that it names and its script checks."""
    return {
        "upload": ImagesForm(),
        "files": limits.MAX_UPLOAD_FILES,
        "together": limits.MAX_UPLOAD_BYTES // limits.MEGABYTE,
        "one": limits.MAX_IMAGE_BYTES // limits.MEGABYTE,
    }


@csrf_exempt  # checked by upload_page, once it is clear who sends and how much
@require_http_methods(["GET", "HEAD", "POST"])
def images_add(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_to_change(request.user, slug)
    context = {"collection": collection, **upload_limits()}

    def start(form: ImagesForm) -> ImportJob:
        sent = form.cleaned_data
        by = user_of(request)
        job = start_upload(collection=collection, uploads=sent["images"], paths=sent["paths"], by=by)
        ask_for_import(job.pk)
        return job

    return upload_page(request, "images/images_add.html", context, form=ImagesForm, start=start)


@require_safe
def import_list(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug)
    jobs = imports_for(request.user).filter(collection=collection)
    page = Paginator(jobs, IMPORTS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "images/imports.html", {"collection": collection, "page": page})


@require_safe
def import_show(request: HttpRequest, job_id: int) -> HttpResponse:
    job = import_for(request.user, job_id)
    outcome = request.GET.get("outcome", "")
    rows = job.rows.filter(**{f"{outcome}__gt": 0}) if outcome in ImportOutcome.values else job.rows.all()
    page = Paginator(rows, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"job": job, "report": selectors.report_of(job), "outcome": outcome, "page": page}
    return render(request, "images/import.html", context)


@require_safe
def import_progress(request: HttpRequest, job_id: int) -> HttpResponse:
    """The part of the page that refreshes itself; when all is done, it reloads the whole page."""
    job = import_for(request.user, job_id)
    if not request.headers.get("HX-Request"):
        return redirect("images:import-show", job.pk)
    report = selectors.report_of(job)
    response = render(request, "images/_import_progress.html", {"job": job, "report": report})
    if report.is_finished:
        response["HX-Refresh"] = "true"
    return response


@require_safe
def import_export(request: HttpRequest, job_id: int) -> StreamingHttpResponse:
    job = import_for(request.user, job_id)
    writer = csv.writer(_EchoWriter())
    return csv_download((writer.writerow(row) for row in selectors.report_table(job)), f"import-{job.pk}.csv")


class _EchoWriter:
    def write(self, line: str) -> str:
        return line
