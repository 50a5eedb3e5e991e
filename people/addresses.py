"""The e-mail address of an account, and how it becomes another one."""

from __future__ import annotations

from allauth.account.adapter import get_adapter
from allauth.account.forms import AddEmailForm
from allauth.account.internal.flows.email_verification import send_verification_email_to_address
from allauth.account.models import EmailAddress
from django.db import transaction
from django.http import HttpRequest

from people.models import User


class AddressForm(AddEmailForm):
    def save(self, request: HttpRequest) -> EmailAddress:
        """Have the new address confirmed; the one in force stays until then.

        allauth would drop it at once where it was never confirmed, as of all who gave it when they joined.
        """
        with transaction.atomic():
            EmailAddress.objects.filter(user=self.user, verified=False).exclude(email=self.user.email).delete()
            address = EmailAddress.objects.create(user=self.user, email=self.cleaned_data["email"])
        send_verification_email_to_address(request, address)
        return address


def replace_address(*, user: User, before: str) -> None:
    """Let nobody in any more by an address that an administrator replaced, and tell whoever reads it."""
    EmailAddress.objects.filter(user=user).exclude(email__iexact=user.email).delete()
    if not before:
        return
    template = "account/email/email_changed" if user.email else "account/email/email_deleted"
    about = {"from_email": before, "to_email": user.email, "deleted_email": before}
    transaction.on_commit(lambda: get_adapter().send_notification_mail(template, user, about, before))
