"""What views ask of a request."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest

from people.models import User


def user_of(request: HttpRequest) -> User:
    """The person who is signed in; for views that only they reach."""
    return cast("User", request.user)


def is_htmx(request: HttpRequest) -> bool:
    """Whether the page's script asks for a part of a page rather than a whole one."""
    return request.headers.get("HX-Request") == "true"
