"""Consent texts, and who agreed to them."""

from __future__ import annotations

from core.people import defaults
from core.people.models import Consent, ConsentText, Project, User


def newest_consent_text(project: Project) -> ConsentText | None:
    return project.consent_texts.order_by("-version").first()


def has_gaps(text: ConsentText | None) -> bool:
    """Return whether a placeholder of the default text still has to be replaced by a manager."""
    return text is not None and defaults.GAP in text.body


def has_consented(user: User, text: ConsentText) -> bool:
    return Consent.objects.filter(user=user, text=text, withdrawn_at=None).exists()
