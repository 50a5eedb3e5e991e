"""Which account is meant by what somebody signs in with, and whether the password is right."""

from __future__ import annotations

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.db.models import Q
from django.http import HttpRequest

from people.models import User


def owner_of(email: str) -> User | None:
    """The account that an address belongs to; one who gave it and has not confirmed it does not own it yet."""
    # Addresses are kept in small letters. In capitals, which a database compares by, ı is I: another domain.
    return User.objects.filter(email=email.lower()).first()


def account_named(name: str) -> User | None:
    """The account with this e-mail address, confirmed, or this user name, in any case."""
    if not name:
        return None
    lower = name.lower()
    found = User.objects.filter(Q(email=lower) | Q(username__iexact=name))
    named = [user for user in found if lower in (user.email, user.username.lower())]
    return min(named, key=lambda user: user.email != lower, default=None)


class AccountBackend(AuthenticationBackend):
    """Looks at one password, once.

    allauth would look twice at that of an address's owner, and let in whoever gave an address only where it has no
    owner: the time of one answer and the other answer itself would tell a stranger whether there is an account.
    """

    def _authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        found = account_named(credentials.get("username") or credentials.get("email") or "")
        checked: User | None = self._check_password(found, credentials["password"])
        return checked
