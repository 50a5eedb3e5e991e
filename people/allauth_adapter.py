"""Where accounts differ from allauth: its adapter, and its check of a password."""

from __future__ import annotations

import logging
from ipaddress import ip_address
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from people.models import User
from people.requests import keep_language
from people.rules.devices import device_of
from people.selectors.accounts import account_named, owner_of
from people.services.lockout import know_browser
from people.services.sessions import save_password

log = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: accounts are made on the page of an invitation, `people:invitation-accept`."""
        return False

    def clean_username(self, username: str, shallow: bool = False) -> str:
        cleaned: str = super().clean_username(username, shallow)
        if "@" in cleaned:
            raise ValidationError(_("A user name cannot contain @. Only e-mail addresses do."))
        return cleaned

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address of a request; an IPv4 address mapped into IPv6 is returned as IPv4.

        Locks and limits count the first half of an IPv6 address, in which all of IPv4 would be one.
        """
        address = ip_address(super().get_client_ip(request))
        return str((address.version == 6 and address.ipv4_mapped) or address)

    def can_delete_email(self, email_address: EmailAddress) -> bool:
        """Keep the address in force while a new one waits: allauth would replace it with the unconfirmed one."""
        of_account = EmailAddress.objects.filter(user=email_address.user)
        return email_address.email != email_address.user.email or of_account.count() == 1

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Make an address its account's own, unless another account has it by now."""
        owner = owner_of(email_address.email)
        if owner is not None and owner.pk != email_address.user_id:
            details = {"email": email_address.email}
            self.add_message(request, messages.ERROR, "account/messages/email_confirmation_failed.txt", details)
            return False
        confirmed: bool = super().confirm_email(request, email_address)
        return confirmed

    def set_password(self, user: User, password: str) -> None:
        """Store a new password, whether it is changed, set or reset, and end sessions from the old one."""
        user.set_password(password)  # slow on purpose, so before the transaction, which on SQLite blocks all writers
        save_password(user=user, this=self.request.session.session_key, now=timezone.now())

    def send_notification_mail(
        self, template_prefix: str, user: User, context: dict[str, Any] | None = None, email: str | None = None
    ) -> None:
        """Mail `user`, in their language, that the way they sign in has changed.

        The change is kept if no mail can be sent.
        """
        details = context or {}
        # Somebody whose only address was removed gets the mail there.
        to = email or EmailAddress.objects.get_primary_email(user) or details.get("deleted_email")
        by_another = self.request.user.is_authenticated and self.request.user.pk != user.pk
        details |= {
            "by_another": by_another,
            "device": device_of(self.get_http_user_agent(self.request)),
            "profile_url": self.request.build_absolute_uri(reverse("people:profile-show")),
        }
        language = user.interface_language or (settings.LANGUAGE_CODE if by_another else get_language())
        try:
            with override(language):
                super().send_notification_mail(template_prefix, user, details, to)
        except OSError:  # SMTPException is one
            log.warning("No mail could be sent about %s to account %s", template_prefix, user.pk)

    def post_login(self, request: HttpRequest, user: Any, **about: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **about)
        know_browser(response, user)
        if user.interface_language:
            keep_language(response, user.interface_language)
        return response


class AccountBackend(AuthenticationBackend):
    """Checks a password once.

    allauth would check twice for an address's owner, and sign in somebody who only gave an address if it has no owner:
    both the response time and the response would reveal to a stranger whether there is an account.
    """

    def _authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        account = account_named(credentials.get("username") or credentials.get("email") or "")
        checked: User | None = self._check_password(account, credentials["password"])
        return checked
