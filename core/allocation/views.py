"""Taking, saving and resuming work in a browser: one answer for each way in which a step can end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from core.allocation.refusals import AllocationRefusal, refusal_of
from core.people.models import User
from core.people.requests import user_of

MS_PER_DAY = 24 * 3600 * 1000
CLEAR_SITE_DATA = "Clear-Site-Data"
View = Callable[..., HttpResponse]


@dataclass(frozen=True)
class WorkAddresses:
    """Names of the pages of one kind of work: the list of it, and a batch."""

    work: str
    batch: str

    def of(self, batch_id: UUID | None, refusal: AllocationRefusal) -> str:
        """Return where a person continues after `refusal`."""
        if refusal.open_batch:
            return reverse(self.batch, args=[refusal.open_batch])
        is_elsewhere = refusal.status in (403, 404) or refusal.code == "no-tasks-available" or batch_id is None
        return reverse(self.work) if is_elsewhere else reverse(self.batch, args=[batch_id])


def explains_refusals(addresses: WorkAddresses) -> Callable[[View], View]:
    """Lead a person whose step was refused to the page where they can continue, with the reason."""

    def decorate(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                return view(request, *args, **kwargs)
            except Exception as error:
                refusal = refusal_of(error)
            return _redirected(request, refusal, addresses.of(kwargs.get("batch_id"), refusal))

        return answer

    return decorate


def save_view(addresses: WorkAddresses, *, stays: bool, has_form: bool = False) -> Callable[[View], View]:
    """Answer a page's script in JSON however its save ends, and the form that it replaces, if any, by a redirect.

    The script gets `state` (the code of the refusal), `message`, `location` and what is stored: 401 signed out, 404 not
    yours, 409 changed elsewhere, 410 over, 422 refused. A script that `stays` on its page shows the message itself.
    """

    def refused(refusal: AllocationRefusal, location: str, request: HttpRequest) -> HttpResponse:
        if has_form and not is_script(request):
            return _redirected(request, refusal, location)
        if not stays and refusal.status not in (401, 404, 422):
            _say_why(request, refusal)
        # To a script a 403 is Django's answer to a session that has ended meanwhile.
        status = 410 if refusal.status == 403 else refusal.status
        about = {"state": refusal.code, "message": refusal.message, "location": location}
        return JsonResponse(about | dict(refusal.stored), status=status)

    def decorate(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, batch_id: UUID, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                refusal = AllocationRefusal(401, "signed-out", _("You are signed out. Sign in again to continue."))
                here = reverse(addresses.batch, args=[batch_id])
                return refused(refusal, f"{reverse('account_login')}?next={here}", request)
            try:
                return view(request, batch_id, *args, **kwargs)
            except Exception as error:
                refusal = refusal_of(error)
            return refused(refusal, addresses.of(batch_id, refusal), request)

        return login_not_required(answer)

    return decorate


def resume_view(
    addresses: WorkAddresses, find: Callable[[User, UUID], object], resume_batch: Callable[..., object]
) -> View:
    """Make the view that resumes a batch; `find` gets it or raises 404."""

    @require_POST
    @explains_refusals(addresses)
    def view(request: HttpRequest, batch_id: UUID) -> HttpResponse:
        find(user_of(request), batch_id)
        resume_batch(batch_id=batch_id, person=user_of(request), now=timezone.now())
        return redirect(addresses.batch, batch_id)

    return view


def says_where(view: View) -> View:
    """Answer a page's script, which asks for JSON, with 200 and the address where a form is redirected.

    WebKit hides redirects that clear site data from scripts. People who are signed out stay on the page: 401; so the
    view itself asks whether they are.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if request.accepts("text/html") or not isinstance(response, HttpResponseRedirect):
            return response
        if not request.user.is_authenticated:
            return JsonResponse({"state": "signed-out"}, status=401)
        located = JsonResponse({"location": response.url})
        if CLEAR_SITE_DATA in response:
            located[CLEAR_SITE_DATA] = response[CLEAR_SITE_DATA]
        return located

    return login_not_required(answer)


def is_script(request: HttpRequest) -> bool:
    return not request.accepts("text/html")


def active_ms_of(request: HttpRequest) -> int:
    """Return the active time that a page's script measured, in milliseconds; 0 if it sends nothing usable."""
    value = request.POST.get("active_ms", "")
    return min(int(value), MS_PER_DAY) if value.isdecimal() and len(value) < 12 else 0


def _redirected(request: HttpRequest, refusal: AllocationRefusal, location: str) -> HttpResponse:
    if refusal.status == 404:
        raise Http404(refusal.message)
    _say_why(request, refusal)
    return redirect(location)


def _say_why(request: HttpRequest, refusal: AllocationRefusal) -> None:
    if refusal.status == 403:
        for (reason,) in refusal.errors.values():
            messages.error(request, reason)
    elif refusal.status != 410:
        # The page of a batch whose lease is over says so itself.
        messages.warning(request, refusal.message)
