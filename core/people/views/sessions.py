"""The user's own sessions: where they are signed in, and ending sessions elsewhere."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.people.forms.access import EndSessionsForm
from core.people.requests import user_of
from core.people.selectors.sessions import own_sessions
from core.people.services import tokens
from core.people.services.sessions import end_other_sessions, end_session


@require_safe
def session_list(request: HttpRequest) -> HttpResponse:
    user, now = user_of(request), timezone.now()
    own = own_sessions(user, this=request.session.session_key, now=now)
    form = EndSessionsForm(tokens=tokens.in_force(now).filter(user=user).count())
    return render(request, "people/sessions.html", {"sessions": own, "form": form})


@require_POST
def session_end(request: HttpRequest, handle: str) -> HttpResponse:
    if not end_session(user=user_of(request), handle=handle):
        raise Http404(_("This session is not yours, or it has already ended."))
    messages.success(request, _("The session has been ended."))
    return redirect("people:session-list")


@require_POST
def session_end_others(request: HttpRequest) -> HttpResponse:
    user, with_tokens = user_of(request), "with_tokens" in request.POST
    this = request.session.session_key
    end_other_sessions(user=user, this=this, with_tokens=with_tokens, now=timezone.now())
    messages.success(
        request,
        _("You have been signed out everywhere else, and your tokens have been revoked.")
        if with_tokens
        else _("You have been signed out everywhere else."),
    )
    return redirect("people:session-list")
