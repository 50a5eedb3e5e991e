"""Codes of a second factor: wrong ones count as wrong passwords do, see lockout.py."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import ValidationError


class _Counted(BaseAuthenticateForm):
    def clean_code(self) -> str:
        request: Any = context.request
        credentials = {"username": self.user.get_username()}
        if not AxesProxyHandler.is_allowed(request, credentials):
            # AxesMiddleware then answers that they are locked out.
            request.axes_locked_out, request.axes_credentials = True, credentials
            raise get_adapter().validation_error("too_many_login_attempts")
        try:
            code: str = super().clean_code()
        except ValidationError:
            user_login_failed.send(sender=__name__, credentials=credentials, request=request)
            raise
        return code


class SignInCodeForm(_Counted, AuthenticateForm):
    pass


class ConfirmingCodeForm(_Counted, ReauthenticateForm):
    pass
