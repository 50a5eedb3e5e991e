"""Personal links: the address that is the account of somebody without a password. Only a digest of it is stored."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from urllib.parse import urljoin

from allauth.account.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.db import transaction
from django.urls import reverse
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from core.people.models import PersonalLink, User
from core.people.permissions import manages_all, may_change_accounts, may_have_link
from core.people.selectors.accounts import person_of_link
from core.people.selectors.projects import projects_of
from core.people.services import audit_log
from core.people.services.sessions import end_other_sessions, remove_added_ways_in
from core.people.services.tokens import TOKEN_BYTES, digest_of

LIFETIME = timedelta(days=90)
"""(ours) From the last time that somebody signed in with it."""


class LinkError(Exception):
    """The link cannot be replaced or ended; the message says why and who can do it."""


class LinkNotSentError(LinkError):
    """The new link could not be mailed, so the old one goes on."""


def make_link(*, user: User, this: str | None = None, now: datetime) -> str:
    """Make the link of `user`, who has no password, in place of the one they had; return its secret part, once.

    All sessions but `this` end. So does one that begins at this moment.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    made = {"digest": digest_of(token), "made_at": now, "expires_at": now + LIFETIME}
    with transaction.atomic():
        _end_access(user, this, now)
        PersonalLink.objects.update_or_create(user=user, defaults=made)
    return token


def renew_link(*, user: User, this: str | None, now: datetime) -> str:
    """Make another link for its owner, who is signed in.

    Raises LinkError where the link was replaced or ended since `user` was read, or there is none.
    """
    with transaction.atomic():
        is_current = User.objects.select_for_update(no_key=True, of=("self",)).filter(
            pk=user.pk, password=user.password, personal_link__isnull=False
        )
        if not is_current.values_list("pk"):
            raise LinkError(_("There is no such page."))
        return make_link(user=user, this=this, now=now)


def use_link(*, token: str, now: datetime) -> User | None:
    """Return whom the link signs in, and have it last from `now` on; None if it no longer works."""
    digest = digest_of(token)
    person = person_of_link(digest, now=now)
    # By its digest: meanwhile it may have been replaced or ended.
    valid = PersonalLink.objects.filter(digest=digest, expires_at__gt=now)
    return person if person is not None and valid.update(expires_at=now + LIFETIME) else None


def mail_link(*, to: str, address: str) -> None:
    """Mail somebody their link. Raises OSError, of which SMTPException is one."""
    get_adapter().send_mail("people/email/personal_link", to, {"url": address})


def replace_link(*, person: User, by: User, site: str, now: datetime) -> str:
    """Give somebody another link to the same account, for example because they lost it; return its address.

    If they confirmed an e-mail address, it is sent there: nobody else sees it, and "" is returned.

    Raises LinkError as `check_link`, and LinkNotSentError if it cannot be sent: then nothing has changed.
    """
    with transaction.atomic():
        person = _locked(person)
        check_link(person=person, by=by)
        address = urljoin(site, reverse("people:link-open", args=[make_link(user=person, now=now)]))
        if person.email:
            # Before the logs of projects are locked, as it may take seconds.
            _send(person, address)
        _record("link.replaced", person, by, now)
    return "" if person.email else address


def _send(person: User, address: str) -> None:
    try:
        with override(person.interface_language or get_language()):
            mail_link(to=person.email, address=address)
    except OSError as error:
        raise LinkNotSentError(_("The e-mail could not be sent. Try again in a few minutes.")) from error


def revoke_link(*, person: User, by: User, now: datetime) -> None:
    """End somebody's link, and all that was signed in with it. Repeating it changes nothing.

    Raises LinkError as `check_link`.
    """
    with transaction.atomic():
        person = _locked(person)
        check_link(person=person, by=by)
        # The row stays: it says that this account is one of a link, which can get another.
        has_link = PersonalLink.objects.filter(user=person, expires_at__gt=now).update(expires_at=now)
        # A passkey and a service work also when the link has expired.
        added = (Authenticator, SocialAccount)
        if has_link or any(model.objects.filter(user=person).exists() for model in added):
            _end_access(person, None, now)
            _record("link.revoked", person, by, now)


def check_link(*, person: User, by: User) -> None:
    """Check that `by` may replace or end the link of `person`.

    The link opens all that is theirs. So it takes somebody who manages all of their projects, or changes accounts.

    Raises LinkError.
    """
    if not PersonalLink.objects.filter(user=person).exists() or not may_have_link(person):
        raise LinkError(_("%(name)s cannot sign in by a personal link.") % {"name": person.username})
    if not may_change_accounts(by) and not manages_all(by, projects_of(person)):
        text = _(
            "%(name)s also takes part in projects that you do not manage. Only an administrator can replace the link."
        )
        raise LinkError(text % {"name": person.username})


def _locked(person: User) -> User:
    # People come before the logs of projects, as wherever both are locked.
    return User.objects.select_for_update(no_key=True).get(pk=person.pk)


def _end_access(user: User, this: str | None, now: datetime) -> None:
    """End sessions, tokens and all other ways in. Somebody who had the link may have added them.

    A sign-in that has read the account, but stored no session yet, ends as well. What stands in place of a password
    changes, and a session carries a digest of that.
    """
    user.set_unusable_password()
    user.save(update_fields=["password"])
    end_other_sessions(user=user, this=this, with_tokens=True, now=now)
    remove_added_ways_in(user)


def _record(action: str, person: User, by: User, now: datetime) -> None:
    for project in projects_of(person):
        audit_log.record(project=project, action=action, about="", by=by, person=person, now=now)
