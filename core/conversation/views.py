"""The page on which somebody reports an image, and the inbox of a project."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.allocation.refusals import refusal_of
from core.allocation.services.errors import BatchReturnedError, LeaseExpiredError
from core.conversation import services
from core.conversation.forms import InboxForm, ReportForm
from core.conversation.models import ReportedState
from core.conversation.permissions import inbox_of, item_for, reported_image_for
from core.conversation.selectors import languages_of, page_of, reported_images
from core.images.selectors import served_image
from core.people.requests import user_of

DECISIONS = (ReportedState.PAUSED, ReportedState.RESUMED, ReportedState.WITHDRAWN)


@require_http_methods(["GET", "HEAD", "POST"])
def report_send(request: HttpRequest, kind: str, batch_id: UUID, position: int) -> HttpResponse:
    person = user_of(request)
    item = item_for(person, kind, batch_id, position)
    form = ReportForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        context = {"form": form, "item": item, "image": served_image(item.image, person)}
        return render(request, "conversation/report.html", context, status=422 if form.is_bound else 200)
    about: dict[str, Any] = {"kind": kind, "batch_id": batch_id, "position": position} | form.cleaned_data
    try:
        services.report_image(**about, person=person, now=timezone.now())
        messages.success(request, _("Reported. Thank you! You will not get this image again."))
    except (LeaseExpiredError, BatchReturnedError) as error:
        messages.warning(request, refusal_of(error).message)
    return redirect(item.url)


@require_safe
def inbox_show(request: HttpRequest, slug: str) -> HttpResponse:
    project, manager = inbox_of(user_of(request), slug), user_of(request)
    form = InboxForm(request.GET, languages=languages_of(project))
    page = page_of(reported_images(project, reader=manager, **form.wanted()), request.GET.get("page"))
    shown = [(one, served_image(one.image, manager)) for one in page]
    return render(request, "conversation/inbox.html", {"project": project, "form": form, "page": page, "images": shown})


@require_POST
def image_decide(request: HttpRequest, slug: str, reported_id: int) -> HttpResponse:
    reported = reported_image_for(user_of(request), slug, reported_id)
    state = request.POST.get("state", "")
    if state in DECISIONS:
        services.decide_image(
            reported_id=reported.pk, state=ReportedState(state), by=user_of(request), now=timezone.now()
        )
        messages.success(
            request, _("Done. The image is in this state now: %(state)s.") % {"state": ReportedState(state).label}
        )
    return redirect("conversation:inbox-show", slug)
