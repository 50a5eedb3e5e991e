"""Receive the files of a form, and show the progress and report of what was made of them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from typing import Any

from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler, MemoryFileUploadHandler
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_safe

from core.images import selectors
from core.images.models import ImportJob, ImportOutcome
from core.images.permissions import collection_for, import_for, imports_for
from core.images.rules import limits
from core.people.requests import csv_download, render_part

SHOWN_OF_A_NAME = 50
"""Characters."""


class UploadTooLargeError(Exception):
    """The upload is too large; the message says how much is accepted, and what to do."""


class LongFileNameError(MultiPartParserError):
    """A file has a name that no disk could hold. Django answers with status 400; the message says what to do."""


class FileNameCheck(FileUploadHandler):
    """Checks the name of every file that is sent with a form, before anything is stored."""

    def new_file(self, field_name: str, file_name: str, *about: Any, **more: Any) -> None:
        super().new_file(field_name, file_name, *about, **more)
        if len(file_name.encode()) > limits.MAX_NAME_BYTES:
            text = _("The name of the file “%(name)s…” is longer than %(limit)s bytes. Rename it.")
            raise LongFileNameError(text % {"name": file_name[:SHOWN_OF_A_NAME], "limit": limits.MAX_NAME_BYTES})

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the handlers that store it."""


def receive(request: HttpRequest) -> None:
    """Receive the files of a form on the disk, never in memory. Call before anything reads the form.

    Raises UploadTooLargeError before anything is read, where there is more than is taken. Raises LongFileNameError.
    """
    if int(request.META.get("CONTENT_LENGTH") or 0) > limits.MAX_UPLOAD_BYTES:
        raise UploadTooLargeError(
            _("That is more than %(limit)s MB at once. Upload it in several parts, or have it imported on the server.")
            % {"limit": limits.MAX_UPLOAD_BYTES // 10**6}
        )
    request.upload_handlers = [
        handler for handler in request.upload_handlers if not isinstance(handler, MemoryFileUploadHandler)
    ]
    try:
        request.FILES  # noqa: B018 - reading it is what takes the files in
    except TooManyFilesSent as error:
        text = _("That is more than %(limit)s files at once. Put them in a zip file.")
        raise UploadTooLargeError(text % {"limit": limits.MAX_UPLOAD_FILES}) from error


def upload_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    form: Callable[..., Any],
    start: Callable[[Any], ImportJob | None],
    page_of: Callable[[ImportJob], str],
) -> HttpResponse:
    """Show the `form`, or `start` a job with what it holds and lead to the page about the job.

    The view is exempt from the check against forged requests, which is made here after the files were received.
    `start` returns None where it refused the form, which then says why.
    """
    if request.method != "POST":
        return render(request, template, {**context, "form": form()})
    try:
        receive(request)
    except UploadTooLargeError as error:
        if _is_for_script(request):
            return JsonResponse({"errors": [str(error)]}, status=413)
        return render(request, template, {**context, "form": form(), "error": str(error)}, status=413)
    except LongFileNameError as error:
        if _is_for_script(request):
            return JsonResponse({"errors": [str(error)]}, status=400)
        raise
    return _started(request, template, context, form, start, page_of)


@csrf_protect
def _started(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    form: Callable[..., Any],
    start: Callable[[Any], ImportJob | None],
    page_of: Callable[[ImportJob], str],
) -> HttpResponse:
    sent = form(request.POST, request.FILES)
    job = start(sent) if sent.is_valid() else None
    if job is None:
        if _is_for_script(request):
            return JsonResponse({"errors": [str(text) for texts in sent.errors.values() for text in texts]}, status=422)
        return render(request, template, {**context, "form": sent}, status=422)
    if _is_for_script(request):
        return JsonResponse({"location": page_of(job)})
    return redirect(page_of(job))


def _is_for_script(request: HttpRequest) -> bool:
    """Whether a script sends the files, which goes on to another page itself."""
    return request.headers.get("Accept", "") == "application/json"


ROWS_PER_PAGE = 100
IMPORTS_PER_PAGE = 50


def upload_limits() -> dict[str, Any]:
    """Return the limits that a form for files names and its script checks."""
    return {
        "files": limits.MAX_UPLOAD_FILES,
        "together": limits.MAX_UPLOAD_BYTES // limits.MEGABYTE,
        "one": limits.MAX_IMAGE_BYTES // limits.MEGABYTE,
    }


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
    report = selectors.report_of(job)
    page = reverse("images:import-show", args=[job.pk])
    context = {"job": job, "report": report}
    return render_part(request, "images/_import_progress.html", context, page=page, is_over=report.is_finished)


@require_safe
def import_export(request: HttpRequest, job_id: int) -> StreamingHttpResponse:
    job = import_for(request.user, job_id)
    writer = csv.writer(EchoWriter())
    return csv_download((writer.writerow(row) for row in selectors.report_table(job)), f"import-{job.pk}.csv")


class EchoWriter:
    """A file that returns what is written to it, so that `csv` makes a stream."""

    def write(self, line: str) -> str:
        return line
