"""Who is locked out of signing in, and for how long.

Five failures for one account from one address lock that account there; wrong passwords and wrong codes both count.
Fifty failures from one address lock the address, because a classroom or an office shares one. Fifty for one account,
from anywhere, lock it for browsers that have not signed in to it with its present password: its owner can continue in
their own. Failures are counted in the database, so that all web processes know. The e-mail address and the user name of
an account, in any case, count as one.
"""

from __future__ import annotations

from datetime import timedelta
from math import ceil
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.core.internal.ratelimit import truncate_ip
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_cool_off, get_failure_limit
from axes.models import AccessAttempt
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from core.people.models import User
from core.people.selectors.accounts import account_named

FAILURES_SHARED_PER_FAILURE = 10
"""How many failures of an address, or of an account, weigh as much as one of an account at one address."""

KNOWN_BROWSER_AGE = timedelta(days=365)
SALT = "people.lockout"

Credentials = dict[str, Any] | None


class LockOutHandler(AxesDatabaseHandler):
    def get_failures(self, request: HttpRequest, credentials: Credentials = None) -> int:
        return max(failures for _found, failures in self._counted(request, credentials))

    def _counted(self, request: HttpRequest, credentials: Credentials) -> list[tuple[QuerySet[AccessAttempt], int]]:
        of_both, of_address, of_account = self.get_user_attempts(request, credentials)
        counted = [(of_both, _failures(of_both)), (of_address, _failures(of_address) // FAILURES_SHARED_PER_FAILURE)]
        shared = _failures(of_account) // FAILURES_SHARED_PER_FAILURE
        if shared and not is_known_browser(request, name_tried(request, credentials)):
            counted.append((of_account, shared))
        return counted

    def reset_user_attempts(self, request: HttpRequest, credentials: Credentials = None) -> int:
        """Forget the failures of the account that signed in at its address, no others.

        Otherwise an attacker could sign in to an own account between guesses at others.
        """
        return self.filter_user_attempts(request, credentials)[0].delete()[0]

    def wait(self, request: HttpRequest, credentials: Credentials = None) -> timedelta:
        """Return how long `request` stays locked out."""
        cool_off = get_cool_off(request) or timedelta(0)
        limit = get_failure_limit(request, credentials)
        locking = [attempts for attempts, failures in self._counted(request, credentials) if failures >= limit]
        last = [attempts.aggregate(last=Max("attempt_time"))["last"] for attempts in locking]
        return max(max(last) + cool_off - timezone.now(), timedelta(0)) if last else cool_off


def _failures(attempts: QuerySet[AccessAttempt]) -> int:
    return attempts.aggregate(sum=Sum("failures_since_start"))["sum"] or 0


def name_tried(request: HttpRequest, credentials: Credentials = None) -> str:
    """Return the account that a request tries to sign in to, the same however it was typed; "" for none."""
    values = credentials or {}
    tried = values.get("username") or values.get("email") or request.POST.get("login") or ""
    name = str(tried).replace("\0", "").strip()
    account = account_named(name)
    return (account.username if account else name).lower()[:255]


def address_of(request: HttpRequest) -> str | None:
    """Return the address of a request, behind as many proxies as the settings say; None if unknown.

    For IPv6 it is the network of 64 bits, which one household has as a whole. If fewer proxies than configured report
    an address, only signing in is refused.
    """
    try:
        address: str = truncate_ip(get_adapter().get_client_ip(request))
    except (PermissionDenied, ImproperlyConfigured):
        return None
    return address


def know_browser(response: HttpResponse, user: User) -> None:
    """Let the browser prove, until the password changes, that `user` signed in with it."""
    response.set_signed_cookie(
        settings.KNOWN_BROWSER_COOKIE_NAME,
        f"{user.pk}:{user.get_session_auth_hash()}",
        salt=SALT,
        max_age=KNOWN_BROWSER_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def is_known_browser(request: HttpRequest, name: str) -> bool:
    name_of_cookie = settings.KNOWN_BROWSER_COOKIE_NAME
    known = request.get_signed_cookie(name_of_cookie, "", salt=SALT, max_age=KNOWN_BROWSER_AGE) or ""
    user = User.objects.filter(username__iexact=name).first()
    return user is not None and constant_time_compare(known, f"{user.pk}:{user.get_session_auth_hash()}")


def locked_out(request: HttpRequest, response: HttpResponse | None, credentials: Credentials) -> HttpResponse:
    minutes = max(1, ceil(LockOutHandler().wait(request, credentials).total_seconds() / 60))
    page = render(request, "people/locked_out.html", {"minutes": minutes}, status=429)
    page["Retry-After"] = str(minutes * 60)
    return page
