"""What a manager does about other people's batches. Each returns to the page it came from."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation.permissions import batch_managed_by
from annotation.services import reassignment as services
from annotation.views.shared import number_sent
from core.allocation.services.errors import BatchClosedError
from core.people.models import Role, User
from core.people.requests import user_of, way_back


@require_POST
def batch_move(request: HttpRequest, slug: str, batch_id: UUID) -> HttpResponse:
    batch = batch_managed_by(request.user, slug, batch_id)
    members = User.objects.filter(memberships__project__slug=slug, memberships__role=Role.ANNOTATOR)
    to = get_object_or_404(members, pk=number_sent(request.POST.get("to")))
    try:
        moved = services.move_batch(batch=batch, to=to, by=user_of(request), now=timezone.now())
    except services.NOT_REASSIGNED as refused:
        messages.error(request, services.why_not_reassigned(refused, to.username))
    else:
        _say_what_moved(request, to, moved)
    return _back(request, slug)


@require_POST
def batch_return_by_manager(request: HttpRequest, slug: str, batch_id: UUID) -> HttpResponse:
    batch = batch_managed_by(request.user, slug, batch_id)
    try:
        freed = services.return_batch(batch=batch, by=user_of(request), now=timezone.now())
    except BatchClosedError:
        messages.info(request, _("This batch is no longer assigned to anybody."))
    else:
        text = ngettext("%(number)d place is free again.", "%(number)d places are free again.", freed)
        messages.success(request, text % {"number": freed})
    return _back(request, slug)


def _say_what_moved(request: HttpRequest, to: User, moved: services.ReassignedBatch) -> None:
    text = ngettext(
        "%(number)d image is now assigned to %(name)s, who starts from the beginning.",
        "%(number)d images are now assigned to %(name)s, who starts from the beginning.",
        moved.moved,
    )
    messages.success(request, text % {"name": to.username, "number": moved.moved})
    if moved.left:
        text = ngettext(
            "%(number)d image could not be reassigned because they had it before. Anybody else can take it.",
            "%(number)d images could not be reassigned because they had them before. Anybody else can take them.",
            moved.left,
        )
        messages.warning(request, text % {"number": moved.left})


def _back(request: HttpRequest, slug: str) -> HttpResponse:
    page = reverse("annotation:project-show", args=[slug])
    return redirect(way_back(request, request.POST.get("next", ""), otherwise=page))
