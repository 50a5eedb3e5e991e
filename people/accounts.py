"""What we want otherwise than allauth does it."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from people import access
from people.lockout import know_browser
from people.models import User


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never: accounts are made on the page of an invitation, `people:invitation-accept`."""
        return False

    def clean_username(self, username: str, shallow: bool = False) -> str:
        cleaned: str = super().clean_username(username, shallow)
        if "@" in cleaned:
            raise ValidationError(_("A user name has no @ in it; that is how it is told from an e-mail address."))
        return cleaned

    def set_password(self, user: User, password: str) -> None:
        """Keep a new password, whether it is changed, set or reset; what the old one let in ends."""
        user.set_password(password)  # slow on purpose, hence before the transaction, which on SQLite stops all writers
        access.save_password(user=user, this=self.request.session.session_key, now=timezone.now())

    def post_login(self, request: HttpRequest, user: Any, **about: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **about)
        know_browser(response, user)
        if user.interface_language:
            keep_language(response, user.interface_language)
        return response


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
