"""What views ask of a request, and let a browser remember."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from people.models import User


def user_of(request: HttpRequest) -> User:
    """The person who is signed in; for views that only they reach."""
    return cast("User", request.user)


def is_htmx(request: HttpRequest) -> bool:
    """Whether the page's script asks for a part of a page rather than a whole one."""
    return request.headers.get("HX-Request") == "true"


def keep_language(response: HttpResponse, language: str) -> None:
    """Let the browser ask for `language` from now on ("": for what it is set to itself).

    Costs no query per request, unlike asking the account.
    """
    if not language:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME)
        return
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        path=settings.LANGUAGE_COOKIE_PATH,
        domain=settings.LANGUAGE_COOKIE_DOMAIN,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite="Lax",
    )
