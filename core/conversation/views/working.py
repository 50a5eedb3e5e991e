"""The pages on which people report images and write to managers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.conversation import services
from core.conversation.forms.working import MessageForm, ReportForm
from core.conversation.permissions import (
    KINDS,
    ReportableItem,
    item_for,
    project_asked,
)
from core.conversation.selectors import own_messages
from core.images.selectors import served_image
from core.people.requests import RefusalsShown, numbers_in, user_of


@require_http_methods(["GET", "HEAD", "POST"])
def report_send(request: HttpRequest, kind: str, batch_id: UUID, position: int) -> HttpResponse:
    person = user_of(request)
    item = item_for(person, kind, batch_id, position)
    form = ReportForm(request.POST if request.method == "POST" else None, reasons=KINDS[kind].reasons)
    if not form.is_valid():
        image = {"src": item.src, "is_ready": True} if item.src else served_image(item.image, person)
        context = {"form": form, "item": item, "image": image}
        return render(request, "conversation/report.html", context, status=422 if form.is_bound else 200)
    # The form may be from screen 1, and sent when another tab is on screen 2.
    item = replace(item, is_on_screen_1=item.is_on_screen_1 or "screen_1" in request.POST)
    if form.is_question:
        return _ask(request, item, form.cleaned_data["comment"])
    about: dict[str, Any] = {"kind": kind, "batch_id": batch_id, "position": position} | form.cleaned_data
    return _report(request, item, **about, person=person, now=timezone.now())


def _report(request: HttpRequest, item: ReportableItem, *, kind: str, **about: Any) -> HttpResponse:
    """Report the image, and go on to what comes after an item that this skips, not one that was skipped before."""
    if not services.report_image(kind=kind, **about):
        messages.success(request, _("Reported. Thank you! Your submitted answer does not change."))
        return redirect(item.url)
    not_again = _("Reported. Thank you! You will not get this image again.")
    # Another sentence of the same batch may have the same image.
    messages.success(request, _("Reported. Thank you!") if item.is_played else not_again)
    go_on = KINDS[kind].go_on
    return redirect(go_on(about["batch_id"], about["person"], about["now"]) if go_on and item.is_skipped else item.url)


def _ask(request: HttpRequest, item: ReportableItem, text: str) -> HttpResponse:
    with RefusalsShown(request, services.MessageRefusedError):
        about: dict[str, Any] = {"project": item.project, "person": user_of(request), "text": text, "item": item}
        services.ask_managers(**about, now=timezone.now())
        on_season = _("Sent. You will find the reply on the page of the season.")
        messages.success(
            request, on_season if item.is_played else _("Sent. You will find the reply on your list of work.")
        )
    return redirect(item.url)


@require_http_methods(["GET", "HEAD", "POST"])
def thread_show(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what the person and the managers wrote; take another message, or that the replies were read."""
    project, person = project_asked(request.user, slug), user_of(request)
    about: dict[str, Any] = {"project": project, "person": person}
    if "read" in request.POST:
        services.confirm_replies(**about, replies=numbers_in(request.POST, "read"), now=timezone.now())
        return redirect("conversation:thread-show", slug)
    form = MessageForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with RefusalsShown(form, services.MessageRefusedError, field="text"):
            services.ask_managers(**about, text=form.cleaned_data["text"], now=timezone.now())
            return redirect("conversation:thread-show", slug)
    said = list(own_messages(project, person))
    # Of what is shown: a reply that comes meanwhile is not read.
    context = {
        "project": project,
        "form": form,
        "said": said,
        "unread": [one for one in said if one.is_reply and one.read_at is None],
    }
    context["is_some_hidden"] = own_messages(project, person, is_hidden=True).exists()
    return render(request, "conversation/thread.html", context, status=422 if form.errors else 200)
