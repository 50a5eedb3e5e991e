"""Managers' feedback to an annotator, and captions that were returned to them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Caption, CaptionState, Feedback
from annotation.permissions import caption_to_correct
from annotation.rules import text_checks
from annotation.selectors.corrections import caption_to_rewrite, warnings_for
from annotation.selectors.feedback import note_to, notes_to, unread
from annotation.services import corrections
from annotation.services.batches import InvalidCaptionError
from annotation.services.feedback import acknowledge
from core.people.requests import user_of
from core.people.rules.markdown import to_html


@require_safe
def feedback_list(request: HttpRequest) -> HttpResponse:
    return render(request, "annotation/feedback_list.html", {"notes": notes_to(user_of(request))})


@require_safe
def feedback_show(request: HttpRequest, feedback_id: int) -> HttpResponse:
    note = note_to(user_of(request), feedback_id)
    if note is None:
        raise Http404(_("You have no such feedback, or it is about an image that is assigned to you now."))
    return render(request, "annotation/feedback.html", {"note": note, "language": note.language})


@require_POST
def feedback_acknowledge(request: HttpRequest, feedback_id: int) -> HttpResponse:
    person = user_of(request)
    try:
        acknowledge(feedback_id=feedback_id, person=person, now=timezone.now())
    except Feedback.DoesNotExist as gone:
        raise Http404(_("You have no such feedback, or it is about an image that is assigned to you now.")) from gone
    return redirect("annotation:feedback-list" if unread(person) else "annotation:work-show")


@require_http_methods(["GET", "HEAD", "POST"])
def caption_rewrite(request: HttpRequest, caption_id: int) -> HttpResponse:
    caption = caption_to_correct(request.user, caption_id)
    return _submit(request, caption) if request.method == "POST" else _page(request, caption)


def _submit(request: HttpRequest, caption: Caption) -> HttpResponse:
    text, author = request.POST.get("text", ""), user_of(request)
    if caption_to_rewrite(caption, author).image is None:
        return _page(request, caption, 409, typed=text)
    warnings = [] if text_checks.hard_error(text) else warnings_for(caption, text)
    seen = set(request.POST.getlist("seen"))
    if caption.state == CaptionState.RETURNED and any(warning.code not in seen for warning in warnings):
        return _page(request, caption, typed=text, warnings=warnings)
    try:
        corrections.rewrite(caption_id=caption.pk, author=author, text=text, now=timezone.now())
    except InvalidCaptionError as refused:
        return _page(request, caption, 422, typed=text, problem=refused.problem.message)
    except corrections.RewriteRefusedError as refused:
        return _page(request, caption, 409, typed=text, problem=str(refused))
    except corrections.AlreadyRewrittenError:
        return _page(request, caption_to_correct(author, caption.pk), 409, typed=text)
    messages.success(request, _("Your new caption was submitted. Thank you!"))
    return redirect("annotation:work-show")


def _page(request: HttpRequest, caption: Caption, status: int = 200, **more: Any) -> HttpResponse:
    page = caption_to_rewrite(caption, user_of(request))
    context = {
        "page": page,
        "language": page.language,
        "writing_html": to_html(caption.round.guidelines.writing),
        **more,
    }
    return render(request, "annotation/rewrite.html", context, status=status)
