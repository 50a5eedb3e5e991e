"""Responses of the API to refused requests: a problem as in RFC 9457."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from rest_framework.response import Response

MEDIA_TYPE = "application/problem+json"

STATUSES = {
    400: ("Malformed request", "malformed"),
    401: ("Not signed in", "not-signed-in"),
    403: ("Not allowed", "not-allowed"),
    404: ("Not found", "not-found"),
    405: ("Method not allowed", "method-not-allowed"),
    406: ("Not acceptable", "not-acceptable"),
    408: ("Too slow", "too-slow"),
    409: ("Not now", ""),
    410: ("No longer assigned", ""),
    413: ("Too large", "too-large"),
    415: ("Unsupported media type", "unsupported-media-type"),
    422: ("Refused", "invalid"),
    429: ("Too many requests", "too-many-requests"),
    500: ("Server error", "fault"),
    501: ("No such method", "method-not-allowed"),
    503: ("Not ready", "busy"),
    507: ("No space left", "no-room"),
}
"""The title of each, and its code if nothing more exact is known."""

DJANGOS = re.compile(r"No \w+ matches the given query\.")


def answer_problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn any exception that DRF would answer into a problem; None for errors of ours."""
    # The web server needs this module, but for pages not the rest framework, which brings drivers of PostgreSQL.
    from rest_framework import exceptions
    from rest_framework.views import exception_handler

    if isinstance(error, Http404):
        # Django names the model, in English, which nobody outside knows.
        said = "" if DJANGOS.fullmatch(str(error)) else str(error)
        exception: exceptions.APIException = exceptions.NotFound(said or None)
    elif isinstance(error, PermissionDenied):
        exception = exceptions.PermissionDenied(str(error) or None)
    elif isinstance(error, exceptions.APIException):
        exception = error
    else:
        return None
    # DRF rolls back the transaction and sets the headers; the body is ours.
    response = exception_handler(exception, context)
    assert response is not None
    status, errors = response.status_code, getattr(exception, "errors", {})
    detail = str(exception.detail)
    if isinstance(exception, exceptions.ValidationError):
        status, errors = 422, dict(_flat(exception.detail))
        detail = _("Some of the data you sent is missing or not valid.")
    response.status_code = status
    code = getattr(exception, "problem_code", "")
    response.data = _problem(status, detail, errors, code) | getattr(exception, "more", {})
    response.content_type = MEDIA_TYPE
    return response


def is_api(path: str) -> bool:
    return path.startswith("/api/")


def problem_outside(status: int, detail: str) -> JsonResponse:
    """Answer with a problem if no view of the API was reached, or one failed. It uses no database."""
    return JsonResponse(_problem(status, detail, {}), status=status, content_type=MEDIA_TYPE)


def _problem(status: int, detail: str, errors: Mapping[str, Any], code: str = "") -> dict[str, Any]:
    title, usual_code = STATUSES[status]
    code = code or usual_code
    about = {"type": f"{reverse('api:docs')}#{code}", "title": title, "status": status, "code": code}
    return about | {"detail": detail, "errors": errors}


def _flat(detail: Any, name: str = "") -> Iterator[tuple[str, list[str]]]:
    """Flatten errors to {field: reasons}, however nested: `items.3.text`."""
    if isinstance(detail, dict):
        for key, inner in detail.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(detail, list) and any(isinstance(inner, dict | list) for inner in detail):
        for number, inner in enumerate(detail):
            yield from _flat(inner, f"{name}.{number}" if name else str(number))
    else:
        reasons = detail if isinstance(detail, list) else [detail]
        yield name or "non_field_errors", [str(reason) for reason in reasons]
