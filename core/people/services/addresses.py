"""Replace the e-mail address of an account."""

from __future__ import annotations

from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from django.db import transaction

from core.people.models import User


def replace_address(*, user: User, before: str) -> None:
    """Disable an address that an administrator replaced, and notify its owner."""
    EmailAddress.objects.filter(user=user).exclude(email__iexact=user.email).delete()
    if not before:
        return
    template = "account/email/email_changed" if user.email else "account/email/email_deleted"
    context = {"from_email": before, "to_email": user.email, "deleted_email": before}
    transaction.on_commit(lambda: get_adapter().send_notification_mail(template, user, context, before))
