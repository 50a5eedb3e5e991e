"""Codes of a second factor: wrong ones count like wrong passwords, see lockout.py."""

from __future__ import annotations

import re
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.core import context
from allauth.mfa.adapter import get_adapter as get_mfa_adapter
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth.signals import user_login_failed
from django.core.cache import cache
from django.core.exceptions import ValidationError

PERIOD_S = 30
GOOD_FOR_S = (1 + 2 * settings.MFA_TOTP_TOLERANCE) * PERIOD_S
"""Times of the fastest to the slowest clock that is accepted."""


class _CountedCodeForm(BaseAuthenticateForm):
    def clean_code(self) -> str:
        request: Any = context.request
        credentials = {"username": self.user.get_username()}
        if not AxesProxyHandler.is_allowed(request, credentials):
            # AxesMiddleware then answers that they are locked out.
            request.axes_locked_out, request.axes_credentials = True, credentials
            raise get_adapter().validation_error("too_many_login_attempts")
        try:
            code: str = super().clean_code()
            self._check_unused(code)
        except ValidationError:
            user_login_failed.send(sender=__name__, credentials=credentials, request=request)
            raise
        return code

    def _check_unused(self, code: str) -> None:
        """Refuse an app's code that was used before: allauth remembers it for only one of its three periods."""
        digits = re.sub(r"\D", "", code)
        is_of_app = self.authenticator.type == Authenticator.Type.TOTP
        if is_of_app and not cache.add(f"code-used:{self.user.pk}:{digits}", "yes", timeout=GOOD_FOR_S):
            raise get_mfa_adapter().validation_error("incorrect_code")

    def save(self) -> None:
        super().save()
        if self.authenticator.type == Authenticator.Type.RECOVERY_CODES:
            self.authenticator.refresh_from_db()
            left = len(self.authenticator.wrap().get_unused_codes())
            get_adapter().send_notification_mail("people/email/recovery_code_used", self.user, {"left": left})


class SignInCodeForm(_CountedCodeForm, AuthenticateForm):
    pass


class ConfirmingCodeForm(_CountedCodeForm, ReauthenticateForm):
    pass
