"""The inbox of a project, for its managers."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.conversation import services
from core.conversation.forms.inbox import InboxForm, ReplyForm, SavedAnswerForm
from core.conversation.models import ReportedState
from core.conversation.permissions import (
    inbox_of,
    reported_image_for,
    saved_answer_for,
    thread_for,
)
from core.conversation.selectors import (
    languages_of,
    messages_for,
    page_of,
    reported_images,
    seen_captions,
    threads_of,
    why_unanswerable,
)
from core.images.selectors import served_image
from core.people.requests import RefusalsShown, number_in, user_of

DECISIONS = (ReportedState.PAUSED, ReportedState.RESUMED, ReportedState.WITHDRAWN)


@require_safe
def inbox_show(request: HttpRequest, slug: str) -> HttpResponse:
    project, manager = inbox_of(user_of(request), slug), user_of(request)
    form, number = InboxForm(request.GET, languages=languages_of(project)), request.GET.get("page")
    threads = page_of(threads_of(project, **form.wanted()), number, is_wanted=form.kind_wanted != "reports")
    images = page_of(
        reported_images(project, reader=manager, **form.wanted()), number, is_wanted=form.kind_wanted != "questions"
    )
    said, seen = messages_for(manager, threads), seen_captions(images, reader=manager)
    context = {
        "project": project,
        "form": form,
        "page": max(threads, images, key=lambda page: page.paginator.num_pages),
        "threads": [(thread, said[thread.pk][-1:]) for thread in threads],
        "images": [
            (one, served_image(one.image, manager), [(report, seen.get(report.pk, ())) for report in one.readable])
            for one in images
        ],
        "saved": project.saved_answers.all(),
        "saved_form": SavedAnswerForm(),
    }
    return render(request, "conversation/inbox.html", context)


@require_POST
def image_decide(request: HttpRequest, slug: str, reported_id: int) -> HttpResponse:
    reported = reported_image_for(user_of(request), slug, reported_id)
    if request.POST.get("state", "") in DECISIONS:
        state = ReportedState(request.POST["state"])
        services.decide_image(reported_id=reported.pk, state=state, by=user_of(request), now=timezone.now())
        messages.success(request, _("Saved. The image is now marked “%(state)s”.") % {"state": state.label})
    return redirect("conversation:inbox-show", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def thread_answer(request: HttpRequest, slug: str, thread_id: int) -> HttpResponse:
    manager = user_of(request)
    thread = thread_for(manager, slug, thread_id)
    if "resolve" in request.POST:
        services.resolve_thread(thread_id=thread.pk, newest=number_in(request.POST, "newest"))
        return redirect("conversation:inbox-show", slug)
    messages_shown = messages_for(manager, [thread])[thread.pk]
    newest = messages_shown[-1].pk if messages_shown else None
    form = ReplyForm(request.POST if request.method == "POST" else None, project=thread.project, newest=newest)
    if form.is_valid():
        with RefusalsShown(form, services.MessageRefusedError, field="text"):
            about: dict[str, Any] = {"thread_id": thread.pk, "text": form.cleaned_data["text"]}
            about["newest"] = number_in(request.POST, "newest")
            services.answer_thread(**about, by=manager, now=timezone.now())
            return redirect("conversation:inbox-show", slug)
    shown = [
        (one, served_image(one.image, manager) if one.image and not one.is_reply else None) for one in messages_shown
    ]
    context = {"project": thread.project, "thread": thread, "said": shown, "form": form}
    context["why_unanswerable"] = why_unanswerable(thread)
    return render(request, "conversation/answer.html", context, status=422 if form.errors else 200)


@require_POST
def saved_answer_add(request: HttpRequest, slug: str) -> HttpResponse:
    form = SavedAnswerForm(request.POST)
    form.instance.project = inbox_of(user_of(request), slug)
    if form.is_valid():
        form.save()
    for reason in (reason for reasons in form.errors.values() for reason in reasons):
        messages.error(request, str(reason))
    return redirect("conversation:inbox-show", slug)


@require_POST
def saved_answer_delete(request: HttpRequest, slug: str, answer_id: int) -> HttpResponse:
    saved_answer_for(user_of(request), slug, answer_id).delete()
    return redirect("conversation:inbox-show", slug)
