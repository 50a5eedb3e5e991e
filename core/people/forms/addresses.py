"""The form to add an e-mail address to an account."""

from __future__ import annotations

from allauth.account.forms import AddEmailForm
from allauth.account.internal.flows.email_verification import send_verification_email_to_address
from allauth.account.models import EmailAddress
from django.db import transaction
from django.http import HttpRequest


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
