"""Responses of the API to refused requests: a problem as in RFC 9457."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

MEDIA_TYPE = "application/problem+json"

TITLES = {
    400: "Malformed request",
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    408: "Too slow",
    409: "Not now",
    410: "No longer assigned",
    413: "Too large",
    415: "Unsupported media type",
    422: "Refused",
    429: "Too many requests",
    500: "Server error",
    501: "No such method",
    503: "Not ready",
    507: "No space left",
}
CODES = {
    400: "malformed",
    401: "not-signed-in",
    403: "not-allowed",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    408: "too-slow",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid",
    429: "too-many-requests",
    500: "fault",
    501: "method-not-allowed",
    503: "busy",
    507: "no-room",
}
"""Used if nothing more exact is known."""


def answer_problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn any exception that DRF would answer into a problem; None for errors of ours."""
    if isinstance(error, Http404):
        exception: exceptions.APIException = exceptions.NotFound(str(error) or None)
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
    code = getattr(exception, "problem_code", None)
    detail = str(exception.detail)
    if isinstance(exception, exceptions.ValidationError):
        status, errors = 422, dict(_flat(exception.detail))
        detail = _("Some of the data you sent is missing or not valid.")
    code = code or CODES[status]
    response.status_code = status
    response.data = {
        "type": f"{reverse('api:docs')}#{code}",
        "title": TITLES[status],
        "status": status,
        "code": code,
        "detail": detail,
        "errors": errors,
        **getattr(exception, "more", {}),
    }
    response.content_type = MEDIA_TYPE
    return response


def is_api(path: str) -> bool:
    return path.startswith("/api/")


def problem_outside(status: int, detail: str) -> JsonResponse:
    """Answer with a problem if no view of the API was reached, or one failed. It uses no database."""
    code = CODES[status]
    problem = {"type": f"{reverse('api:docs')}#{code}", "title": TITLES[status], "status": status, "code": code}
    return JsonResponse({**problem, "detail": detail, "errors": {}}, status=status, content_type=MEDIA_TYPE)


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
