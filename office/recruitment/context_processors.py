"""Context of every page: the way back to the panel, for those who came from one."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from office.recruitment.models import Participant
from office.recruitment.selectors.work import study_in_progress


def study(request: HttpRequest) -> dict[str, Any]:
    """Add `participation`; accounts with a password, and signed-out visitors, cost no query."""
    user = getattr(request, "user", None)

    def participation() -> Participant | None:
        if user is None or not user.is_authenticated or user.has_usable_password():
            return None
        return study_in_progress(user)

    return {"participation": SimpleLazyObject(participation)}
