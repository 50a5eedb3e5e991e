"""Invitations and consent texts, as tests of the pages about people need them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from core.people.models import Invitation, Project, Role
from core.people.services.consent import publish_consent_text
from core.people.services.invitations import invite
from tests.factories import make_language


def make_invitation(project: Project, *, now: datetime | None = None, **about: Any) -> Invitation:
    values: dict[str, Any] = {
        "role": Role.ANNOTATOR,
        "languages": [make_language("de"), make_language("sw")],
        "expires_at": (now or timezone.now()) + timedelta(days=1),
        "created_by": project.created_by,
    }
    return invite(project=project, now=now or timezone.now(), **(values | about))


def publish(project: Project, body: str) -> None:
    publish_consent_text(project=project, body=body, by=project.created_by, now=timezone.now())


def link_of(invitation: Invitation) -> str:
    return reverse("people:invitation-accept", args=[invitation.token])
