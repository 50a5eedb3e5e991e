"""For every request: note its session's last use, and require a second factor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django_htmx.http import HttpResponseClientRedirect

from people.models import Session
from people.permissions import lacks_second_factor
from people.requests import is_htmx
from people.services.lockout import address_of
from people.services.session_store import SessionStore

LONGEST_USER_AGENT = Session._meta.get_field("user_agent").max_length


class SessionUse:
    """Records when, from where and by which browser a session was last used."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        session = request.session
        assert isinstance(session, SessionStore)
        user_agent = request.headers.get("User-Agent", "").replace("\0", "")
        session.client = (address_of(request) or "", user_agent[:LONGEST_USER_AGENT])
        response = self.get_response(request)
        # Pages can still be read when the disk is full.
        with suppress(DatabaseError):
            session.note_use(now=timezone.now())
        return response


class SecondFactor:
    """Redirects staff and managers without a second factor to set one up, if the settings require it."""

    NEEDED_FOR_THAT = frozenset({"mfa_activate_totp", "account_reauthenticate", "account_logout", "set_language"})

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *_arguments: Any) -> HttpResponse | None:
        # The API refuses on its own, by session and by token: people/api/authentication.py.
        if not settings.SECOND_FACTOR_REQUIRED or hasattr(view, "cls") or not lacks_second_factor(request.user):
            return None
        request.lacks_second_factor = True  # type: ignore[attr-defined]
        if request.resolver_match is not None and request.resolver_match.view_name in self.NEEDED_FOR_THAT:
            return None
        address = reverse("mfa_activate_totp")
        return HttpResponseClientRedirect(address) if is_htmx(request) else redirect(address)
