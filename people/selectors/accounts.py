"""Find the account that somebody means by what they sign in with."""

from __future__ import annotations

from django.db.models import Q

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
    accounts = User.objects.filter(Q(email=lower) | Q(username__iexact=name))
    named = [user for user in accounts if lower in (user.email, user.username.lower())]
    return min(named, key=lambda user: user.email != lower, default=None)
