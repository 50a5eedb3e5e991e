"""What a step would do to each of several invitations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.people.models import UNFINISHED_MAILS, Invitation, InvitationMail, MailState
from core.people.rules.invitations import InvitationAction, why_no_mail, why_not
from core.people.selectors.invitations import invitation_state


@dataclass(frozen=True)
class InvitationChoice:
    """One invitation, and why it is left out; None if it is not.

    `can_be_sent` says whether an e-mail is possible now, apart from its state, and `was_sent` whether one ever arrived.
    """

    invitation: Invitation
    reason: str | None
    can_be_sent: bool
    was_sent: bool


def choices_of(invitations: Sequence[Invitation], action: InvitationAction, *, now: datetime) -> list[InvitationChoice]:
    mailing: set[int] = set()
    mailed_at: dict[int, datetime | None] = {}
    mails = InvitationMail.objects.filter(invitation__in=invitations).order_by("pk")
    for pk, state, sent_at in mails.values_list("invitation", "state", "sent_at"):
        if state in UNFINISHED_MAILS:
            mailing.add(pk)
        elif state == MailState.SENT:
            mailed_at[pk] = sent_at
    choices = []
    for invitation in invitations:
        no_mail = why_no_mail(
            address=invitation.email,
            mailing=invitation.pk in mailing,
            mailed_at=mailed_at.get(invitation.pk),
            now=now,
        )
        reason = why_not(action, state=invitation_state(invitation, now), no_mail=no_mail)
        choices.append(InvitationChoice(invitation, reason, no_mail is None, invitation.pk in mailed_at))
    return choices
