"""The invitations of a project."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import prefetch_related_objects

from people.models import Invitation, Project, Role
from people.rules import invitations
from people.rules.invitations import InvitationState

NAMED = 50
"""How many people per invitation are listed."""


def invitation_state(invitation: Invitation, now: datetime) -> InvitationState:
    return invitations.invitation_state(
        places=invitation.places,
        places_taken=invitation.places_taken,
        expires_at=invitation.expires_at,
        revoked_at=invitation.revoked_at,
        now=now,
    )


@dataclass(frozen=True)
class InvitationRow:
    invitation: Invitation
    role: str
    languages: list[str]
    state: InvitationState
    used_by: list[str]

    @property
    def is_open(self) -> bool:
        return self.state is InvitationState.OPEN


def invitations_of(project: Project, now: datetime) -> list[InvitationRow]:
    """List invitations into `project`, the latest first, naming only some people of one that is open to everybody."""
    invitations = list(project.invitations.order_by("-created_at", "-pk").prefetch_related("languages"))
    prefetch_related_objects([each for each in invitations if each.places_taken <= NAMED], "uses__user")
    return [
        InvitationRow(
            invitation=invitation,
            role=str(Role(invitation.role).label),
            languages=[language.name for language in invitation.languages.all()],
            state=invitation_state(invitation, now),
            used_by=_names(invitation),
        )
        for invitation in invitations
    ]


def _names(invitation: Invitation) -> list[str]:
    if invitation.places_taken <= NAMED:
        return [use.user.username for use in invitation.uses.all()]
    latest = invitation.uses.order_by("-pk").values_list("user__username", flat=True)[:NAMED]
    return [*latest, "…"]
