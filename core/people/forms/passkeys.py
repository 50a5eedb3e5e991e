"""Forms of passkeys: the answer of a browser that adds one, or signs in with it, and its name.

Answers that are refused count like wrong passwords, see lockout.py.
"""

from __future__ import annotations

import struct
from typing import Any

from allauth.core import context
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    EditWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.people.forms.fields import NameCharField
from core.people.forms.sign_in import count_failure, refuse_locked_out
from core.people.services.lockout import address_of

MAX_NAME_CHARACTERS = 60
MAX_ANSWER_CHARACTERS = 10_000
"""Of a browser that adds a passkey: it is stored as it came."""
# What allauth lets through of answers that no browser gives.
_MALFORMED = (AssertionError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError, struct.error)


class NewPasskeyForm(AddWebAuthnForm):
    passwordless = None
    name = NameCharField(label=gettext_lazy("Name"), max_length=MAX_NAME_CHARACTERS, required=False)

    def clean(self) -> dict[str, Any]:
        try:
            if len(self.data.get("credential", "")) > MAX_ANSWER_CHARACTERS:
                raise ValueError
            cleaned: dict[str, Any] = super().clean()
        except (ValidationError, *_MALFORMED):
            raise ValidationError(_("No passkey was used. Try again.")) from None
        return cleaned


class PasskeyNameForm(EditWebAuthnForm):
    name = NameCharField(label=gettext_lazy("Name"), max_length=MAX_NAME_CHARACTERS)


class _CountedPasskeyForm(AuthenticateWebAuthnForm):
    def clean_credential(self) -> Authenticator:
        # Anybody can send an answer in the name of another's account, which must not be locked by that.
        name = self.user.get_username() if self.user else f"passkey@{address_of(context.request)}"
        refuse_locked_out(name)
        try:
            authenticator: Authenticator = super().clean_credential()
        except (ValidationError, *_MALFORMED):
            count_failure(name)
            raise ValidationError(_("This passkey is not known here. Sign in another way.")) from None
        if self.user is None:
            refuse_locked_out(authenticator.user.get_username())
        return authenticator


class SignInPasskeyForm(_CountedPasskeyForm, LoginWebAuthnForm):
    pass


class SecondPasskeyForm(_CountedPasskeyForm):
    pass


class ConfirmingPasskeyForm(_CountedPasskeyForm, ReauthenticateWebAuthnForm):
    pass
