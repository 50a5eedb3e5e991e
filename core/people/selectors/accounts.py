"""Finding the account for what somebody typed to sign in."""

from __future__ import annotations

from django.db.models import Q

from core.people.models import User


def owner_of(email: str) -> User | None:
    """Return the owner of an address; giving an address without confirming it does not make one."""
    # Addresses are stored in lower case. In upper case, which databases compare, ı is I: another domain.
    return User.objects.filter(email=email.lower()).first()


def account_named(name: str) -> User | None:
    """Return the account with this e-mail address, confirmed, or this user name, in any case."""
    if not name:
        return None
    lower = name.lower()
    accounts = User.objects.filter(Q(email=lower) | Q(username__iexact=name))
    named = [user for user in accounts if lower in (user.email, user.username.lower())]
    return min(named, key=lambda user: user.email != lower, default=None)
