"""Around every request that has a session."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from people.lockout import address_of
from people.models import Session
from people.sessions import SessionStore

LONGEST_USER_AGENT = Session._meta.get_field("user_agent").max_length


class SessionUse:
    """Notes when, from where and by which browser a session was last used."""

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
