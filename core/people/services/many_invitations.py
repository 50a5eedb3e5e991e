"""Changing several invitations in one step. Callers check permissions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from core.people.models import Invitation, Project, User
from core.people.rules.invitations import InvitationAction
from core.people.selectors.invitation_choice import InvitationChoice, choices_of
from core.people.services import audit_log
from core.people.services.invitation_mails import InvitationMailing, queue_mails


@dataclass(frozen=True)
class ChangedInvitations:
    """What happened: how many were changed, how many e-mails queued, and what was left out, with its reason."""

    done: int
    mails: int
    left_out: Sequence[InvitationChoice]


def change_many(
    *,
    project: Project,
    invitations: Collection[int],
    action: InvitationAction,
    valid_for: timedelta = timedelta(0),
    sends: bool = False,
    mailing: InvitationMailing,
    now: datetime,
) -> ChangedInvitations:
    """Send again, extend or revoke each of `invitations` for which it is possible.

    Parameters
    ----------
    valid_for : timedelta
        From now, if they are extended. The links stay the same.
    sends : bool
        Whether those that are extended are sent again too, where that is possible.
    """
    with transaction.atomic():
        # Two managers who do the same at once take turns; the second sees what the first did.
        rows = project.invitations.filter(pk__in=invitations).order_by("pk").select_for_update(no_key=True)
        choices = choices_of(list(rows), action, now=now)
        chosen = [choice for choice in choices if choice.reason is None]
        possible = Invitation.objects.filter(pk__in=[choice.invitation.pk for choice in chosen])
        mails = 0
        if action is InvitationAction.EXTEND:
            possible.update(expires_at=now + valid_for)
            to_send = [choice.invitation for choice in chosen if choice.can_be_sent] if sends else []
            mails = queue_mails(invitations=to_send, mailing=mailing, is_reminder=True, now=now)
        elif action is InvitationAction.REVOKE:
            possible.update(revoked_at=now)
        else:
            mails = _remind(chosen, mailing, now)
        if chosen:
            _log(project, action, chosen, mailing.by, now)
    return ChangedInvitations(len(chosen), mails, [choice for choice in choices if choice.reason is not None])


def _remind(chosen: Sequence[InvitationChoice], mailing: InvitationMailing, now: datetime) -> int:
    """Queue the e-mails. One that never arrived is not called a reminder when it is sent again."""
    mails = 0
    for is_reminder in (True, False):
        those = [choice.invitation for choice in chosen if choice.was_sent == is_reminder]
        mails += queue_mails(invitations=those, mailing=mailing, is_reminder=is_reminder, now=now)
    return mails


PAST = {
    InvitationAction.REMIND: "sent-again",
    InvitationAction.EXTEND: "extended",
    InvitationAction.REVOKE: "revoked",
}


def _log(
    project: Project, action: InvitationAction, chosen: Sequence[InvitationChoice], by: User, now: datetime
) -> None:
    roles = ", ".join(sorted({choice.invitation.role for choice in chosen}))
    if len(chosen) == 1:
        code, details = f"invitation.{PAST[action]}", {"invitation": chosen[0].invitation.pk}
    else:
        code, details = f"invitations.{PAST[action]}", {"invitations": len(chosen)}
    audit_log.record(project=project, action=code, about=roles, by=by, now=now, details=details)
