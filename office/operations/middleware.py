"""Around every request: an id, a line in the log, counters, and security headers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.deprecation import MiddlewareMixin

from office.operations.logs import LogContext, doing, path_of, request_id_of
from office.operations.services import metrics

log = logging.getLogger("operations.access")

STATIC = "static"
UNRESOLVED = "unresolved"
PROBES = frozenset({"health-show", "readiness-show", "metrics-show"})


class BrowserHeaders(MiddlewareMixin):
    """Has browsers refuse features that no page of ours uses.

    Browsers and proxies store no response that does not say how long it may be stored.
    """

    POLICY = ", ".join(
        f"{feature}=()"
        for feature in (
            "accelerometer", "browsing-topics", "camera", "display-capture", "geolocation", "gyroscope",
            "hid", "magnetometer", "microphone", "midi", "payment", "serial", "usb", "xr-spatial-tracking",
        )
    )  # fmt: skip

    def process_response(self, _request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response["Permissions-Policy"] = self.POLICY
        response.setdefault("Cache-Control", "private, no-store")
        return response


class LogRequests:
    """The outermost, so that requests answered by other middleware are logged too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        now = LogContext(request_id=request_id_of(request), request=request)
        # Not reset: a streamed response is produced after this. The thread's next request sets its own.
        doing.set(now)
        response = self.get_response(request)
        response["X-Request-ID"] = now.request_id
        if isinstance(response, StreamingHttpResponse) and getattr(response, "file_to_stream", None) is None:
            response.streaming_content = _LoggedContent(
                response.streaming_content, lambda: log_request(request, response, time.perf_counter() - began)
            )
        else:
            log_request(request, response, time.perf_counter() - began)
        return response


class _LoggedContent:
    """Content that is logged when it has been sent, or given up; a server closes it in both cases."""

    def __init__(self, content: Any, then: Callable[[], None]) -> None:
        self._content, self._then = content, then

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._content)

    def close(self) -> None:
        self._then()


def log_request(request: HttpRequest, response: HttpResponseBase, duration_s: float) -> None:
    view = view_of(request)
    metrics.count_request(view=view, method=request.method or "", status=response.status_code, duration_s=duration_s)
    path = path_of(request)
    log.log(
        logging.DEBUG if view == STATIC or view in PROBES else logging.INFO,
        "%s %s %s",
        request.method,
        path,
        response.status_code,
        extra={
            "method": request.method,
            "path": path,
            "status": response.status_code,
            "duration_ms": round(duration_s * 1000, 1),
            "view": view,
        },
    )


def view_of(request: HttpRequest) -> str:
    """Return the name of the URL pattern: there are few, whatever is asked for."""
    if request.resolver_match is not None:
        return request.resolver_match.view_name or UNRESOLVED
    return STATIC if request.path.startswith(f"/{settings.STATIC_URL.strip('/')}/") else UNRESOLVED
