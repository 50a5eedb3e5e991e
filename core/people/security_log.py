"""Log lines for whatever decides who somebody is: signing in and out, failures, locks, passwords, factors.

Written from signals, because allauth has many ways to each of them, and the admin others. Accounts are given by number;
a name that was tried may be a password in the wrong field.
"""

from __future__ import annotations

import logging
from typing import Any

from allauth.account import signals as of_accounts
from allauth.mfa import signals as of_factors
from axes.signals import user_locked_out
from django.contrib.auth import signals as of_sessions
from django.dispatch import Signal
from django.http import HttpRequest

from core.people.models import User
from core.people.services.lockout import address_of, name_tried

# Operators find lines by it (docs/operators.md), wherever this module is.
log = logging.getLogger("people.security_log")

EVENTS: dict[str, Signal] = {
    "signed-in": of_sessions.user_logged_in,
    "signed-out": of_sessions.user_logged_out,
    "sign-in-failed": of_sessions.user_login_failed,
    "locked-out": user_locked_out,
    "password-set": of_accounts.password_set,
    "password-changed": of_accounts.password_changed,
    "password-reset": of_accounts.password_reset,
    "email-confirmed": of_accounts.email_confirmed,
    "email-added": of_accounts.email_added,
    "email-changed": of_accounts.email_changed,
    "email-removed": of_accounts.email_removed,
    "factor-added": of_factors.authenticator_added,
    "factor-removed": of_factors.authenticator_removed,
    "factor-renewed": of_factors.authenticator_reset,
    "factor-used": of_factors.authenticator_used,
}
FAILURES = frozenset({"sign-in-failed", "locked-out"})


def connect() -> None:
    for event, signal in EVENTS.items():
        signal.connect(_listener(event), dispatch_uid=f"people.security_log.{event}", weak=False)


def _listener(event: str) -> Any:
    def tell(sender: Any, request: HttpRequest | None = None, **about: Any) -> None:
        level = logging.WARNING if event in FAILURES else logging.INFO
        account, address = _account(request, about), address_of(request) if request else None
        fields = {"event": event, "account": account, "address": address}
        log.log(level, "%s: account %s from %s", event, account, address, extra=fields)

    return tell


def _account(request: HttpRequest | None, about: dict[str, Any]) -> int | None:
    """Return the number of the account; None if no account has the name that was tried."""
    email = about.get("email_address")
    user = about.get("user") or getattr(email, "user", None)
    if isinstance(user, User):
        return user.pk
    given = about.get("credentials") or {"username": about.get("username")}
    if request is None:
        return None
    return User.objects.filter(username__iexact=name_tried(request, given)).values_list("pk", flat=True).first()
