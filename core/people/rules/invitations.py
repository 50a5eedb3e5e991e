"""Whether an invitation can still be used, and what can be done with it."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

REMIND_AFTER = timedelta(days=1)
"""(ours) Nobody gets two e-mails about one invitation within a day."""
CLOSED = gettext_noop("The invitation was closed before.")
"""Why an e-mail was not sent."""


class InvitationState(TextChoices):
    OPEN = "open", gettext_lazy("Open")
    USED_UP = "used-up", gettext_lazy("Used up")
    EXPIRED = "expired", gettext_lazy("Expired")
    REVOKED = "revoked", gettext_lazy("Revoked")
    ARCHIVED = "archived", gettext_lazy("Closed: the project is archived")


class InvitationAction(TextChoices):
    REMIND = "remind", gettext_lazy("Send the link again")
    EXTEND = "extend", gettext_lazy("Extend")
    REVOKE = "revoke", gettext_lazy("Revoke")


def invitation_state(
    *,
    places: int,
    places_taken: int,
    expires_at: datetime,
    revoked_at: datetime | None,
    is_archived: bool = False,
    now: datetime,
) -> InvitationState:
    if revoked_at is not None:
        return InvitationState.REVOKED
    if places_taken >= places:
        return InvitationState.USED_UP
    if is_archived:
        return InvitationState.ARCHIVED
    return InvitationState.EXPIRED if expires_at <= now else InvitationState.OPEN


def why_not(action: InvitationAction, *, state: InvitationState, no_mail: str | None) -> str | None:
    """Return why `action` is not possible; None if it is. `no_mail` is why no e-mail can be sent, if so."""
    if state is InvitationState.REVOKED:
        return _("It was revoked. Make a new invitation.")
    if state is InvitationState.USED_UP:
        return _("All its places are taken.")
    if state is InvitationState.ARCHIVED:
        return _("The project is archived.")
    if action is not InvitationAction.REMIND:
        return None
    return _("It has expired. Extend it instead.") if state is InvitationState.EXPIRED else no_mail


def why_no_mail(*, address: str, mailing: bool, mailed_at: datetime | None, now: datetime) -> str | None:
    """Return why no e-mail can be sent; None if it can.

    - `mailing`: whether one is waiting to be sent.
    - `mailed_at`: when the last was sent.
    """
    if not address:
        return _("It has no e-mail address. Copy its link.")
    if mailing:
        return _("An e-mail is already on its way.")
    if mailed_at is not None and mailed_at > now - REMIND_AFTER:
        return _("An e-mail was sent less than a day ago.")
    return None
