"""Making and changing studies. Callers check permissions."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import transaction

from core.languages.models import Language
from core.people.models import Project, User
from core.people.services import audit_log
from office.recruitment.models import Study

TOKEN_BYTES = 32


def create_study(
    *, project: Project, languages: Collection[Language], by: User, now: datetime, **settings: Any
) -> Study:
    with transaction.atomic():
        study = Study.objects.create(
            project=project, token=secrets.token_urlsafe(TOKEN_BYTES), created_by=by, **settings
        )
        study.languages.set(languages)
        audit_log.record(project=project, action="study.made", about=study.name, by=by, now=now)
    return study


def change_study(*, study: Study, by: User, now: datetime, **settings: Any) -> None:
    """Change how many take part, where they return to, what they are paid, and whether new people can begin."""
    with transaction.atomic():
        for name, value in settings.items():
            setattr(study, name, value)
        study.save(update_fields=list(settings))
        audit_log.record(project=study.project, action="study.changed", about=study.name, by=by, now=now)
