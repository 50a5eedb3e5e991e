"""Where a browser is asked for a passkey: to add one, as second factor, and to confirm who one is.

What it is asked is in `options`, an attribute of the form, as pages have no inline scripts.
"""

from __future__ import annotations

import json
from typing import Any

from allauth.mfa.base import views as base
from allauth.mfa.webauthn import views
from allauth.mfa.webauthn.internal import auth
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect


class PasskeyAddView(views.AddWebAuthnView):
    def get_context_data(self, **about: Any) -> dict[str, Any]:
        context = super().get_context_data(**about)
        # allauth would ask for a key that cannot sign in by itself.
        options = auth.begin_registration(self.request.user, passwordless=True)
        return context | about | {"options": json.dumps(options)}


class SecondFactorView(base.AuthenticateView):
    def get_context_data(self, **about: Any) -> dict[str, Any]:
        context = super().get_context_data(**about)
        options = context["js_data"]["request_options"]
        return context | {"options": json.dumps(options) if options["publicKey"].get("allowCredentials") else ""}


class PasskeyConfirmView(views.ReauthenticateWebAuthnView):
    def get_context_data(self, **about: Any) -> dict[str, Any]:
        context = super().get_context_data(**about)
        return context | {"options": json.dumps(context["js_data"]["request_options"])}

    def form_invalid(self, form: Any) -> HttpResponse:
        for text in form.errors["credential"]:
            messages.error(self.request, text)
        return redirect(self.passthrough_next_url(self.request.path))
