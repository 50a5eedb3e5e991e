"""Endpoints for machines (load balancers, container engines, Prometheus), and pages for errors."""

from __future__ import annotations

import sys
from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views import defaults
from django.views.decorators.csrf import requires_csrf_token
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from core.jobs.rules.missing_packages import how_to_install
from core.people.api.answers import is_api, problem_outside
from office.operations.rules.disk import NO_ROOM, RETRY_AFTER_S, is_full
from office.operations.services.metrics import exposition
from office.operations.services.readiness import OK, readiness

PLAIN = "text/plain; charset=utf-8"
FULL = 507
NOT_INSTALLED = 501


@require_safe
@login_not_required
def health_show(request: HttpRequest) -> HttpResponse:
    """Answer that this process is alive; nothing else is checked, so that an absent database does not restart it."""
    return HttpResponse("ok\n", content_type=PLAIN)


@require_safe
@login_not_required
def readiness_show(request: HttpRequest) -> HttpResponse:
    answers = readiness()
    lines = "".join(f"{name}: {answer}\n" for name, answer in answers.items())
    is_ready = all(answer == OK for answer in answers.values())
    return HttpResponse(lines, status=200 if is_ready else 503, content_type=PLAIN)


@require_safe
@login_not_required
def metrics_show(request: HttpRequest) -> HttpResponse:
    if not _may_see_metrics(request):
        said = "Metrics are only for private addresses without a proxy, or with METRICS_TOKEN as a bearer token.\n"
        return HttpResponse(said, status=404, content_type=PLAIN)
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)


def _may_see_metrics(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        scheme, _blank, token = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and constant_time_compare(token.strip(), settings.METRICS_TOKEN)
    if "X-Forwarded-For" in request.headers:
        # Containers see some outside clients under an address of their own network.
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_private
    except ValueError:
        return False


@requires_csrf_token
def failure_show(request: HttpRequest) -> HttpResponse:
    """Handle 500: a full disk passes, so scripts are asked to retry, and a missing package can be installed."""
    error = sys.exc_info()[1]
    if is_full(error):
        return _full(request)
    how = how_to_install(error)
    if is_api(request.path):
        return problem_outside(500, how or _("The server had an error. Its log has details under X-Request-ID."))
    if how:
        return HttpResponse(loader.render_to_string("501.html", {"how": how}), status=NOT_INSTALLED)
    return defaults.server_error(request)


@requires_csrf_token
def bad_request_show(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Handle 400: Django takes a session that could not be stored for one that was deleted meanwhile."""
    if is_full(exception):
        return _full(request)
    if is_api(request.path):
        return problem_outside(400, _("The server cannot read this request."))
    # The web server needs this module, and rarely that one.
    from core.images.views.uploads import LongFileNameError

    if isinstance(exception, LongFileNameError):
        return HttpResponse(loader.render_to_string("400.html", {"reason": str(exception)}, request), status=400)
    return defaults.bad_request(request, exception)


@requires_csrf_token
def nothing_show(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Handle 404."""
    if is_api(request.path):
        return problem_outside(404, _("There is nothing at this address."))
    return defaults.page_not_found(request, exception)


def _full(request: HttpRequest) -> HttpResponse:
    # It must not query the database, so it has no context.
    said = _(
        "The server has no space left, so this was not saved. Leave this page open: it is sent again automatically."
    )
    response: HttpResponse
    if is_api(request.path):
        response = problem_outside(FULL, NO_ROOM)
    elif request.headers.get("Accept", "").startswith("application/json"):
        response = JsonResponse({"state": "full", "message": said}, status=FULL)
    else:
        response = HttpResponse(loader.get_template("507.html").render(), status=FULL)
    response["Retry-After"] = str(RETRY_AFTER_S)
    return response
