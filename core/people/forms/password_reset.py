"""The form to request a new password."""

from __future__ import annotations

from allauth.account.adapter import get_adapter
from allauth.account.forms import ResetPasswordForm
from django.http import HttpRequest
from django.utils.translation import get_language

from core.people.tasks import send_reset


class ResetForm(ResetPasswordForm):
    """Accept any address without looking it up: the response time does not reveal whether there is an account."""

    def clean_email(self) -> str:
        email: str = get_adapter().clean_email(self.cleaned_data["email"].lower())
        return email

    def save(self, request: HttpRequest, **_about: object) -> str:
        email: str = self.cleaned_data["email"]
        send_reset.delay_on_commit(email, request.build_absolute_uri("/"), get_language() or "")
        return email
