"""Ending sessions, alone or together with everything else that an old password gave access to."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from core.people.models import Session, User
from core.people.selectors.sessions import handle_of
from core.people.services.members import lock_person
from core.people.services.tokens import revoke_all_tokens


def end_session(*, user: User, handle: str) -> bool:
    """End a session; return whether `user` had it."""
    keys = Session.objects.filter(person=user.pk).values_list("session_key", flat=True)
    named = [key for key in keys if handle_of(key) == handle]
    return bool(Session.objects.filter(pk__in=named, person=user.pk).delete()[0])


def end_other_sessions(*, user: User, this: str | None, with_tokens: bool, now: datetime) -> None:
    """End all sessions of `user` but `this`, and, if asked, revoke their tokens too."""
    with transaction.atomic():
        # In the same order as the deletion of an account, so that neither waits for the other's rows.
        lock_person(user)
        Session.objects.filter(person=user.pk).exclude(pk=this).delete()
        if with_tokens:
            revoke_all_tokens(user=user, now=now)


def save_password(*, user: User, this: str | None = None, now: datetime) -> None:
    """Store the password that `user` was just given, and end all access by the old one, except the session `this`."""
    with transaction.atomic():
        user.save(update_fields=["password"])
        end_other_sessions(user=user, this=this, with_tokens=True, now=now)
