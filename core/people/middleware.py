"""For every request: note its session's last use, require a second factor, and keep archived projects as they are."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django_htmx.http import HttpResponseClientRedirect

from core.people.models import Session
from core.people.permissions import is_in_archived, lacks_second_factor
from core.people.requests import is_htmx
from core.people.rules.project_pages import ROOT
from core.people.services.lockout import address_of
from core.people.services.sessions import SessionStore

QUESTIONS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_USER_AGENT_CHARACTERS = Session._meta.get_field("user_agent").max_length


class SessionUse(MiddlewareMixin):
    """Records when, from where and by which browser a session was last used."""

    def process_request(self, request: HttpRequest) -> None:
        session = request.session
        assert isinstance(session, SessionStore)
        user_agent = request.headers.get("User-Agent", "").replace("\0", "")
        session.client = (address_of(request) or "", user_agent[:MAX_USER_AGENT_CHARACTERS])

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        # Pages can still be read when the disk is full.
        with suppress(DatabaseError):
            request.session.note_use(now=timezone.now())  # type: ignore[attr-defined] # of our own store
        return response


class ArchivedProjects(MiddlewareMixin):
    """Refuses what would change an archived project, except what ends something or takes it out of the archive."""

    STILL_ALLOWED = frozenset(
        {
            "people:consent-withdraw", "people:member-remove", "people:webhook-turn-off",
            "people:link-replace", "people:link-revoke",
            "dashboard:project-settings", "dashboard:project-archive", "dashboard:project-restore",
            "dashboard:project-duplicate", "dashboard:project-delete",
        }
    )  # fmt: skip

    def process_view(self, request: HttpRequest, view: Any, *_arguments: Any) -> HttpResponse | None:
        match = request.resolver_match
        # The API refuses on its own, by session and by token: core/people/api/operations.py.
        if match is None or not match.route.startswith(ROOT) or request.method in QUESTIONS or hasattr(view, "cls"):
            return None
        slug = match.kwargs["slug"]
        if match.view_name in self.STILL_ALLOWED or not is_in_archived(request.user, slug):
            return None
        return render(request, "people/archived.html", {"slug": slug}, status=409)


class SecondFactor(MiddlewareMixin):
    """Redirects staff and managers without a second factor to set one up, if the settings require it."""

    NEEDED_FOR_THAT = frozenset(
        {"mfa_activate_totp", "mfa_add_webauthn", "account_reauthenticate", "account_logout", "set_language"}
    )

    def process_view(self, request: HttpRequest, view: Any, *_arguments: Any) -> HttpResponse | None:
        # The API refuses on its own, by session and by token: core/people/api/authentication.py.
        if not settings.SECOND_FACTOR_REQUIRED or hasattr(view, "cls") or not lacks_second_factor(request.user):
            return None
        request.lacks_second_factor = True  # type: ignore[attr-defined]
        if request.resolver_match is not None and request.resolver_match.view_name in self.NEEDED_FOR_THAT:
            return None
        address = reverse("mfa_activate_totp")
        return HttpResponseClientRedirect(address) if is_htmx(request) else redirect(address)
