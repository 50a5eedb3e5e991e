"""Who is locked out of signing in, and for how long.

Five failures for one account from one address lock that account there; fifty failures from one address lock the
address, because a classroom or an office shares one. Counted in the database, so that all web processes know. The
e-mail address and the user name of an account, in any case, count as one.
"""

from __future__ import annotations

from datetime import timedelta
from math import ceil
from typing import Any

from allauth.account.adapter import get_adapter
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.core.exceptions import PermissionDenied
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from people.models import User

FAILURES_OF_AN_ADDRESS_PER_FAILURE_OF_AN_ACCOUNT = 10
Credentials = dict[str, Any] | None


class LockOutHandler(AxesDatabaseHandler):
    def get_failures(self, request: HttpRequest, credentials: Credentials = None) -> int:
        of_account, of_address = (_failures(found) for found in self.get_user_attempts(request, credentials))
        return max(of_account, of_address // FAILURES_OF_AN_ADDRESS_PER_FAILURE_OF_AN_ACCOUNT)

    def reset_user_attempts(self, request: HttpRequest, credentials: Credentials = None) -> int:
        """Forget the failures of the account that signed in, not those of its address.

        Otherwise one own account would be enough to try passwords of others without end.
        """
        of_account, _of_address = self.filter_user_attempts(request, credentials)
        return of_account.delete()[0]

    def wait(self, request: HttpRequest, credentials: Credentials = None) -> timedelta:
        """How long from now `request` stays locked out."""
        last = max(
            (
                found.aggregate(last=Max("attempt_time"))["last"]
                for found in self.get_user_attempts(request, credentials)
            ),
            key=lambda time: time.timestamp() if time else 0,
        )
        cool_off = get_cool_off(request) or timedelta(0)
        return max(last + cool_off - timezone.now(), timedelta(0)) if last else cool_off


def _failures(attempts: QuerySet[AccessAttempt]) -> int:
    return attempts.aggregate(sum=Sum("failures_since_start"))["sum"] or 0


def name_tried(request: HttpRequest, credentials: Credentials = None) -> str:
    """The account that a request tries to sign in to, named one way however it was typed; "" for none."""
    given = credentials or {}
    tried = given.get("login") or given.get("email") or given.get("username")
    name = str(tried or request.POST.get("login") or "").replace("\0", "").strip().lower()
    if "@" in name:
        name = User.objects.filter(email__iexact=name).values_list("username", flat=True).first() or name
    return name.lower()[:255]


def address_of(request: HttpRequest) -> str | None:
    """Where a request comes from, behind as many proxies as the settings say; None where none is known."""
    try:
        address: str = get_adapter().get_client_ip(request)
    except PermissionDenied:
        return None
    return address


def locked_out(request: HttpRequest, response: HttpResponse | None, credentials: Credentials) -> HttpResponse:
    minutes = max(1, ceil(LockOutHandler().wait(request, credentials).total_seconds() / 60))
    page = render(request, "people/locked_out.html", {"minutes": minutes}, status=429)
    page["Retry-After"] = str(minutes * 60)
    return page
