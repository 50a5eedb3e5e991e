"""Sessions in the database that store their owner, so that a person's sessions can be listed and ended.

They end alone, or together with everything else that an old password gave access to.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from allauth.account.signals import authentication_step_completed
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from core.compiled_query import CompiledQuery
from core.people.models import PersonalLink, Session, User
from core.people.selectors.accounts import handle_of
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
        if PersonalLink.objects.filter(user=user).delete()[0]:
            remove_added_ways_in(user)
        end_other_sessions(user=user, this=this, with_tokens=True, now=now)


def remove_added_ways_in(user: User) -> None:
    """Remove passkeys, second factors and connected services. Another holder of the link may have added them."""
    Authenticator.objects.filter(user=user).delete()
    SocialAccount.objects.filter(user=user).delete()


USE_NOTED_EVERY = timedelta(minutes=5)
"""A frequent reader causes few writes."""


# Every request of somebody who is signed in asks it: saves 0.2 ms.
CURRENT = CompiledQuery(
    lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now), key=str, now=datetime
)


class SessionStore(db.SessionStore):
    client: tuple[str, str] = ("", "")
    """Address and user agent of the current request."""
    known: Session | None = None
    """The row as it was last read or written."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Session | None:
        """Do what Django's does, with SQL that is made once."""
        self.known = CURRENT.first(key=self.session_key, now=timezone.now())
        if self.known is None:
            self._session_key = None
        return self.known

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        session = super().create_model_instance(data)
        assert isinstance(session, Session)
        if SESSION_KEY in data:
            now, person = timezone.now(), int(data[SESSION_KEY])
            is_the_same = self.known is not None and self.known.person == person
            session.person = person
            session.signed_in_at = self.known.signed_in_at if self.known is not None and is_the_same else now
            # Django would count from the last change of its data.
            longest = timedelta(seconds=self.get_session_cookie_age())
            session.expire_date = min(session.expire_date, (session.signed_in_at or now) + longest)
            session.seen_at, (session.address, session.user_agent) = now, self.client
        self.known = session
        return session

    def note_use(self, *, now: datetime) -> None:
        """Record when and from where it was last used; a session that is saved anyway includes it."""
        row = self.known
        if row is None or row.person is None or self.modified:
            return
        if row.seen_at is None or row.seen_at <= now - USE_NOTED_EVERY:
            address, user_agent = self.client
            Session.objects.filter(pk=row.pk).update(seen_at=now, address=address, user_agent=user_agent)


def connect() -> None:
    authentication_step_completed.connect(_begin_another, dispatch_uid="core.people.services.sessions")


def _begin_another(request: HttpRequest, *, reauthenticated: bool = False, **_about: Any) -> None:
    """Change the session's key after a confirmation of identity, as Django does at signing in.

    A key that was stolen before is useless then.
    """
    if reauthenticated:
        request.session.cycle_key()
