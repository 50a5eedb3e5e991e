"""Forms of allauth that differ here: passwords, codes of a second factor, new addresses, requests for a password.

Wrong codes count like wrong passwords, see lockout.py.
"""

from __future__ import annotations

import re
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import (
    AddEmailForm,
    ChangePasswordForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SetPasswordForm,
)
from allauth.account.internal.flows.email_verification import send_verification_email_to_address
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa.adapter import get_adapter as get_mfa_adapter
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.conf import settings
from django.contrib.auth.signals import user_login_failed
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import get_language

from core.people.tasks import send_reset

PERIOD_S = 30
GOOD_FOR_S = (1 + 2 * settings.MFA_TOTP_TOLERANCE) * PERIOD_S
"""Times of the fastest to the slowest clock that is accepted."""


class _TypedOnceForm(forms.Form):
    """A new password is shown rather than typed twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["password2"]


class NewPasswordForm(_TypedOnceForm, ChangePasswordForm):
    pass


class FirstPasswordForm(_TypedOnceForm, SetPasswordForm):
    pass


class ForgottenPasswordForm(_TypedOnceForm, ResetPasswordKeyForm):
    pass


def refuse_locked_out(name: str) -> None:
    """Raise ValidationError if nobody may try to sign in as `name` from where the request is from."""
    request: Any = context.request
    credentials = {"username": name}
    if not AxesProxyHandler.is_allowed(request, credentials):
        # AxesMiddleware then answers that they are locked out.
        request.axes_locked_out, request.axes_credentials = True, credentials
        raise get_adapter().validation_error("too_many_login_attempts")


def count_failure(name: str) -> None:
    user_login_failed.send(sender=__name__, credentials={"username": name}, request=context.request)


class _CountedCodeForm(BaseAuthenticateForm):
    def clean_code(self) -> str:
        name = self.user.get_username()
        refuse_locked_out(name)
        try:
            code: str = super().clean_code()
            self._check_unused(code)
        except ValidationError:
            count_failure(name)
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


class AddressForm(AddEmailForm):
    def save(self, request: HttpRequest) -> EmailAddress:
        """Ask to confirm the new address; the one in force stays until then.

        allauth would drop the old one at once if it was never confirmed, as for everybody who gave it when they joined.
        """
        with transaction.atomic():
            EmailAddress.objects.filter(user=self.user, verified=False).exclude(email=self.user.email).delete()
            address = EmailAddress.objects.create(user=self.user, email=self.cleaned_data["email"])
        send_verification_email_to_address(request, address)
        return address


class ResetForm(ResetPasswordForm):
    """Accept any address without looking it up: the response time does not reveal whether there is an account."""

    def clean_email(self) -> str:
        email: str = get_adapter().clean_email(self.cleaned_data["email"].lower())
        return email

    def save(self, request: HttpRequest, **_about: object) -> str:
        email: str = self.cleaned_data["email"]
        send_reset.delay_on_commit(email, request.build_absolute_uri("/"), get_language() or "")
        return email
