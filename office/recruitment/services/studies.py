"""Studies, and what an hour of work costs: making and changing them. Callers check permissions."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction

from core.languages.models import Language
from core.people.models import Project, User
from core.people.services import audit_log
from office.recruitment.models import HourlyRate, Study

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


class RateInCurrency(NamedTuple):
    rate: Decimal
    currency: str


def set_rates(*, project: Project, rates: Mapping[str, RateInCurrency], by: User, now: datetime) -> None:
    """Replace the rates of a project: by language tag, and under the empty one that of the other languages."""
    with transaction.atomic():
        audit_log.lock(project, by)
        HourlyRate.objects.filter(project=project).delete()
        HourlyRate.objects.bulk_create(
            HourlyRate(project=project, language_id=tag or None, rate=rate.rate, currency=rate.currency)
            for tag, rate in rates.items()
        )
        details = {tag or "other languages": f"{rate.rate} {rate.currency}" for tag, rate in rates.items()}
        audit_log.record(project=project, action="rates.changed", about="", by=by, now=now, details=details)
