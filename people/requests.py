"""What views ask of a request."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest

from people.models import User


def user_of(request: HttpRequest) -> User:
    """The person who is signed in; for views that only they reach."""
    return cast("User", request.user)
