"""Whether an invitation can still be used."""

from __future__ import annotations

from datetime import datetime

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy


class InvitationState(TextChoices):
    OPEN = "open", gettext_lazy("Open")
    USED_UP = "used-up", gettext_lazy("Used up")
    EXPIRED = "expired", gettext_lazy("Expired")
    REVOKED = "revoked", gettext_lazy("Revoked")


def invitation_state(
    *, places: int, places_taken: int, expires_at: datetime, revoked_at: datetime | None, now: datetime
) -> InvitationState:
    if revoked_at is not None:
        return InvitationState.REVOKED
    if places_taken >= places:
        return InvitationState.USED_UP
    return InvitationState.EXPIRED if expires_at <= now else InvitationState.OPEN
