"""What a panel tells by its webhooks."""

from __future__ import annotations

import json

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from office.recruitment.models import Study
from office.recruitment.rules.panels import FREED, is_genuine
from office.recruitment.services.participants import free_place

MAX_BODY_BYTES = 100_000


@csrf_exempt
@require_POST
@login_not_required
def event_take(request: HttpRequest, token: str) -> HttpResponse:
    """Answer 200 to every genuine event, also to those that change nothing, so that the panel stops sending it."""
    study = get_object_or_404(Study, token=token.replace("\0", ""))
    body = request.read(MAX_BODY_BYTES + 1)
    genuine = len(body) <= MAX_BODY_BYTES and is_genuine(
        body,
        timestamp=request.headers.get("X-Prolific-Request-Timestamp", ""),
        signature=request.headers.get("X-Prolific-Request-Signature", ""),
        secret=study.webhook_secret,
        now=timezone.now(),
    )
    if not genuine:
        return JsonResponse({"detail": "The signature or its time is wrong."}, status=403)
    try:
        event = json.loads(body)
        status, submission = str(event["status"]).upper(), str(event["resource_id"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return JsonResponse({"detail": "Send JSON with status and resource_id."}, status=400)
    changed = (
        status in FREED
        and submission.isprintable()
        and free_place(study=study, session_id=submission, now=timezone.now())
    )
    return JsonResponse({"freed": changed})
